#include "kernels/distance/distance.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/copy.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

constexpr DTypeSet kDomain = dtype_set(DType::float32, DType::float64);

// The four norms that have a formula of their own, and the general one.
enum class Norm { zero, one, two, infinite, general };

Norm norm_of(double p) {
  if (p == 0) return Norm::zero;
  if (p == 1) return Norm::one;
  if (p == 2) return Norm::two;
  return std::isinf(p) ? Norm::infinite : Norm::general;
}

template <class T>
T distance(const T* a, const T* b, int64_t n, Norm norm, T p) {
  T sum = 0;
  switch (norm) {
    case Norm::zero:
      for (int64_t i = 0; i < n; ++i) sum += T(a[i] != b[i]);
      return sum;
    case Norm::one:
      for (int64_t i = 0; i < n; ++i) sum += std::abs(a[i] - b[i]);
      return sum;
    case Norm::two:
      for (int64_t i = 0; i < n; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
      return std::sqrt(sum);
    case Norm::infinite:
      for (int64_t i = 0; i < n; ++i) {
        const T difference = std::abs(a[i] - b[i]);
        sum = difference > sum || std::isnan(difference) ? difference : sum;
      }
      return sum;
    default:
      for (int64_t i = 0; i < n; ++i) sum += std::pow(std::abs(a[i] - b[i]), p);
      return std::pow(sum, 1 / p);
  }
}

// Adds grad times the derivative of the distance by `a`; that by `b` is its negative.
template <class T>
void add_slope(const T* a, const T* b, int64_t n, Norm norm, T p, T grad, T distance, T* out) {
  if (distance == 0 || grad == 0 || norm == Norm::zero) return;
  auto sign = [](T x) { return T(x > 0) - T(x < 0); };
  switch (norm) {
    case Norm::one:
      for (int64_t i = 0; i < n; ++i) out[i] += grad * sign(a[i] - b[i]);
      return;
    case Norm::two:
      for (int64_t i = 0; i < n; ++i) out[i] += grad * (a[i] - b[i]) / distance;
      return;
    case Norm::infinite:
      for (int64_t i = 0; i < n; ++i) {
        const T difference = a[i] - b[i];
        if (std::abs(difference) == distance) out[i] += grad * sign(difference);
      }
      return;
    default: {
      const T scale = grad / std::pow(distance, p - 1);
      for (int64_t i = 0; i < n; ++i) {
        const T difference = a[i] - b[i];
        if (difference != 0) out[i] += scale * sign(difference) * std::pow(std::abs(difference), p - 1);
      }
    }
  }
}

int64_t rows_per_thread(int64_t work) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)); }

// Where the distances of row i with the rows after it begin.
int64_t pairs_before(int64_t i, int64_t n) { return i * n - i * (i + 1) / 2; }

}  // namespace

void cdist(const View& x1, const View& x2, double p, const View& out) {
  const int64_t rows = x1.sizes[1], others = x2.sizes[1], n = x1.sizes[2];
  const Norm norm = norm_of(p);
  dispatch<kDomain>(out.dtype, "cdist", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *a = x1.as<T>(), *b = x2.as<T>();
    parallel_for(0, x1.sizes[0] * rows, rows_per_thread(others * n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < others; ++j)
          out.as<T>()[i * others + j] = distance(a + i * n, b + (i / rows * others + j) * n, n, norm, T(p));
    });
  });
}

void cdist_backward(const View& grad, const View& x1, const View& x2, double p, const View& distances,
                    const View& out) {
  fill(out, Scalar(0.0));
  const int64_t rows = x1.sizes[1], others = x2.sizes[1], n = x1.sizes[2];
  const Norm norm = norm_of(p);
  dispatch<kDomain>(out.dtype, "cdist_backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *a = x1.as<T>(), *b = x2.as<T>();
    parallel_for(0, x1.sizes[0] * rows, rows_per_thread(others * n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < others; ++j) {
          const int64_t pair = i * others + j;
          add_slope(a + i * n, b + (i / rows * others + j) * n, n, norm, T(p), grad.as<T>()[pair],
                    distances.as<T>()[pair], out.as<T>() + i * n);
        }
    });
  });
}

void pdist(const View& x, double p, const View& out) {
  const int64_t rows = x.sizes[0], n = x.sizes[1];
  const Norm norm = norm_of(p);
  dispatch<kDomain>(out.dtype, "pdist", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* a = x.as<T>();
    parallel_for(0, rows, rows_per_thread(rows * n / 2), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T* row = out.as<T>() + pairs_before(i, rows);
        for (int64_t j = i + 1; j < rows; ++j) *row++ = distance(a + i * n, a + j * n, n, norm, T(p));
      }
    });
  });
}

void pdist_backward(const View& grad, const View& x, double p, const View& distances, const View& out) {
  fill(out, Scalar(0.0));
  const int64_t rows = x.sizes[0], n = x.sizes[1];
  const Norm norm = norm_of(p);
  dispatch<kDomain>(out.dtype, "pdist_backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* a = x.as<T>();
    // Each row gathers from all of its pairs, so that threads write different rows.
    parallel_for(0, rows, rows_per_thread(rows * n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < rows; ++j) {
          if (i == j) continue;
          const int64_t low = std::min(i, j), pair = pairs_before(low, rows) + std::max(i, j) - low - 1;
          add_slope(a + i * n, a + j * n, n, norm, T(p), grad.as<T>()[pair], distances.as<T>()[pair],
                    out.as<T>() + i * n);
        }
    });
  });
}

}  // namespace mt::kernels
