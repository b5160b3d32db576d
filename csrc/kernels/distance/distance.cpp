#include "kernels/distance/distance.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/arithmetic.h"
#include "kernels/common/copy.h"
#include "kernels/common/cpu_features.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"
#include "kernels/common/types.h"
#include "kernels/matmul/gemm.h"

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

// Distances of a few rows of a from as many rows of b as fill some registers, b being transposed: sums side by side
// instead of one long chain each.
template <class T, Norm kNorm>
struct Tile {
  static constexpr int kRows = 4, kColumns = 64 / int(sizeof(T));

  [[gnu::always_inline]] static inline T joined(T sum, T difference) {
    if constexpr (kNorm == Norm::zero) return sum + math::select(difference != T(0), T(1), T(0));
    if constexpr (kNorm == Norm::one) return sum + math::absolute(difference);
    if constexpr (kNorm == Norm::two) return sum + difference * difference;
    return math::maximum(math::absolute(difference), sum);
  }
  // b: kColumns numbers for each of n, one row after the other. Rows that are not there repeat the last.
  [[gnu::always_inline]] static inline void body(const T* const* a, const T* b, int64_t n, T* out) {
    T sums[kRows][kColumns] = {};
    for (int64_t k = 0; k < n; ++k) {
      for (int r = 0; r < kRows; ++r) {
        const T x = a[r][k];
        for (int c = 0; c < kColumns; ++c) sums[r][c] = joined(sums[r][c], x - b[k * kColumns + c]);
      }
    }
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c)
        out[r * kColumns + c] = kNorm == Norm::two ? std::sqrt(sums[r][c]) : sums[r][c];
  }
  static void base(const T* const* a, const T* b, int64_t n, T* out) { body(a, b, n, out); }
  MT_WIDE static void wide(const T* const* a, const T* b, int64_t n, T* out) { body(a, b, n, out); }
  MT_WIDEST static void widest(const T* const* a, const T* b, int64_t n, T* out) { body(a, b, n, out); }
};

template <class T>
using TileFunction = void (*)(const T* const* a, const T* b, int64_t n, T* out);

template <class T>
TileFunction<T> tile_of(Norm norm) {
#define MT_NORM(NAME)                                                                    \
  case Norm::NAME: {                                                                     \
    using Of = Tile<T, Norm::NAME>;                                                      \
    static constexpr TileFunction<T> levels[kLevels] = {Of::base, Of::wide, Of::widest}; \
    return levels[cpu_level];                                                            \
  }
  switch (norm) {
    MT_NORM(zero)
    MT_NORM(one)
    MT_NORM(two)
    MT_NORM(infinite)
    default: return nullptr;
  }
#undef MT_NORM
}

template <class T>
T general_distance(const T* a, const T* b, int64_t n, T p) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::pow(std::abs(a[i] - b[i]), p);
  return std::pow(sum, 1 / p);
}

// Distances of rows [begin, end) of `a` from rows [from, others) of `b`, each row's handed to put(row, first, values,
// count).
template <class T, class Put>
void distances_of_rows(const T* a, int64_t begin, int64_t end, const T* b, int64_t from, int64_t others,
                       int64_t n, Norm norm, T p, const Put& put) {
  constexpr int rows = Tile<T, Norm::two>::kRows, columns = Tile<T, Norm::two>::kColumns;
  const TileFunction<T> tile = tile_of<T>(norm);
  std::vector<T> panel(size_t(tile ? columns * n : 0));
  T values[rows * columns];
  for (int64_t first = from; first < others; first += columns) {
    const int64_t width = std::min<int64_t>(columns, others - first);
    if (tile) {
      for (int64_t c = 0; c < columns; ++c) {
        const T* row = b + (first + std::min(c, width - 1)) * n;
        for (int64_t k = 0; k < n; ++k) panel[size_t(k * columns + c)] = row[k];
      }
    }
    for (int64_t i = begin; i < end; i += rows) {
      const int64_t height = std::min<int64_t>(rows, end - i);
      if (tile) {
        const T* lines[rows];
        for (int64_t r = 0; r < rows; ++r) lines[r] = a + (i + std::min(r, height - 1)) * n;
        tile(lines, panel.data(), n, values);
      } else {
        for (int64_t r = 0; r < height; ++r)
          for (int64_t c = 0; c < width; ++c)
            values[r * columns + c] = general_distance(a + (i + r) * n, b + (first + c) * n, n, p);
      }
      for (int64_t r = 0; r < height; ++r) put(i + r, first, values + r * columns, width);
    }
  }
}

// Adds the gradients times the derivatives of the distances of `a` from `others` rows by `a`; those by the other rows are
// the negatives.
template <class T, Norm kNorm>
struct Slopes {
  [[gnu::always_inline]] static inline void run(const T* a, const T* rows, int64_t others, int64_t n, T p,
                                                const T* grads, const T* distances, T* __restrict out) {
    for (int64_t j = 0; j < others; ++j) {
      const T grad = grads[j], distance = distances[j];
      if (distance == 0 || grad == 0) continue;
      const T* b = rows + j * n;
      const T scale = kNorm == Norm::two       ? grad / distance
                      : kNorm == Norm::general ? grad / std::pow(distance, p - 1)
                                               : grad;
      for (int64_t i = 0; i < n; ++i) {
        const T difference = a[i] - b[i];
        const T sign = math::select(difference > T(0), T(1), math::select(difference < T(0), T(-1), T(0)));
        if constexpr (kNorm == Norm::one) out[i] += scale * sign;
        if constexpr (kNorm == Norm::two) out[i] += scale * difference;
        if constexpr (kNorm == Norm::infinite)
          out[i] += math::select(math::absolute(difference) == distance, scale * sign, T(0));
        if constexpr (kNorm == Norm::general)
          if (difference != 0) out[i] += scale * sign * std::pow(std::abs(difference), p - 1);
      }
    }
  }
};

template <class T>
void add_slopes(const T* a, const T* rows, int64_t others, int64_t n, Norm norm, T p, const T* grads,
                const T* distances, T* out) {
  const auto with = [&]<Norm kNorm>() {
    at_level<Slopes<T, kNorm>, const T*, const T*, int64_t, int64_t, T, const T*, const T*, T*>(
        a, rows, others, n, p, grads, distances, out);
  };
  switch (norm) {
    case Norm::zero: return;
    case Norm::one: return with.template operator()<Norm::one>();
    case Norm::two: return with.template operator()<Norm::two>();
    case Norm::infinite: return with.template operator()<Norm::infinite>();
    case Norm::general: return with.template operator()<Norm::general>();
  }
}

template <class T>
Factor factor_of(const T* data, int64_t row_stride, int64_t column_stride) {
  return {data, row_stride, column_stride, dtype_of<T>};
}

int64_t rows_per_thread(int64_t work) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)); }

// Where the distances of row i with the rows after it begin.
int64_t pairs_before(int64_t i, int64_t n) { return i * n - i * (i + 1) / 2; }

}  // namespace

namespace {

// |a|^2 - 2ab + |b|^2: a product is many times as fast as differences, and loses digits where points are near each
// other in comparison with their distance from zero.
template <class T>
void distances_by_product(const T* a, int64_t rows, const T* b, int64_t others, int64_t n, T* out) {
  const auto squares = [n](const T* x, int64_t count) {
    std::vector<T> sums(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      sums[size_t(i)] = T(sum_of<T>(n, [=](int64_t k) { return x[i * n + k] * x[i * n + k]; }));
    return sums;
  };
  const std::vector<T> of_a = squares(a, rows), of_b = squares(b, others);
  packed_product<T>(rows, others, n, T(-2), factor_of(a, n, 1), factor_of(b, 1, n), T(0), {out, others, 1});
  parallel_for(0, rows, rows_per_thread(others), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* row = out + i * others;
      const T own = of_a[size_t(i)];
      const T* beside = of_b.data();
#pragma GCC ivdep
      for (int64_t j = 0; j < others; ++j) {
        const T square = row[j] + (own + beside[j]);
        row[j] = std::sqrt(math::select(square < T(0), T(0), square));
      }
    }
  });
}

// With w = grad / distance, the sum over j of w (a - b_j) is a times the sum of w, minus a product.
template <class T>
void slopes_by_product(const T* grad, const T* distances, const T* a, int64_t rows, const T* b,
                       int64_t others, int64_t n, T* out) {
  std::vector<T> weights(size_t(rows * others));
  T* w = weights.data();
  parallel_for(0, rows * others, kGrain, [&](int64_t begin, int64_t end) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) {
      const T distance = distances[i];
      w[i] = math::select(distance == T(0), T(0), grad[i] / distance);
    }
  });
  packed_product<T>(rows, n, others, T(-1), factor_of<T>(w, others, 1), factor_of(b, n, 1), T(0),
                    {out, n, 1});
  parallel_for(0, rows, rows_per_thread(others + n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T sum = T(sum_of<T>(others, [=](int64_t j) { return w[i * others + j]; }));
      for (int64_t k = 0; k < n; ++k) out[i * n + k] += sum * a[i * n + k];
    }
  });
}

}  // namespace

bool are_many_points(int64_t rows, int64_t others) { return rows > 25 || others > 25; }

void cdist(const View& x1, const View& x2, double p, bool by_product, const View& out) {
  const int64_t rows = x1.sizes[1], others = x2.sizes[1], n = x1.sizes[2];
  const Norm norm = norm_of(p);
  dispatch<kDomain>(out.dtype, "cdist", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *a = x1.as<T>(), *b = x2.as<T>();
    if (norm == Norm::two && by_product && rows && others && n) {
      for (int64_t i = 0; i < x1.sizes[0]; ++i)
        distances_by_product(a + i * rows * n, rows, b + i * others * n, others, n,
                             out.as<T>() + i * rows * others);
      return;
    }
    parallel_for(0, x1.sizes[0] * rows, rows_per_thread(others * n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin, next; i < end; i = next) {  // the rows of one matrix of the batch
        next = std::min(end, (i / rows + 1) * rows);
        distances_of_rows(a, i, next, b + i / rows * others * n, 0, others, n, norm, T(p),
                          [&](int64_t row, int64_t first, const T* values, int64_t count) {
                            std::copy_n(values, count, out.as<T>() + row * others + first);
                          });
      }
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
    if (norm == Norm::two && are_many_points(rows, others) && rows && others && n) {
      for (int64_t i = 0; i < x1.sizes[0]; ++i) {
        const int64_t pairs = i * rows * others;
        slopes_by_product(grad.as<T>() + pairs, distances.as<T>() + pairs, a + i * rows * n, rows,
                          b + i * others * n, others, n, out.as<T>() + i * rows * n);
      }
      return;
    }
    parallel_for(0, x1.sizes[0] * rows, rows_per_thread(others * n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        add_slopes(a + i * n, b + i / rows * others * n, others, n, norm, T(p), grad.as<T>() + i * others,
                   distances.as<T>() + i * others, out.as<T>() + i * n);
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
      constexpr int64_t together = 16;  // rows with nearly the same rows after them
      for (int64_t i = begin; i < end; i += together) {
        distances_of_rows(a, i, std::min(end, i + together), a, i + 1, rows, n, norm, T(p),
                          [&](int64_t row, int64_t first, const T* values, int64_t count) {
                            const int64_t skip = std::max<int64_t>(0, row + 1 - first);
                            if (skip >= count) return;
                            T* to = out.as<T>() + pairs_before(row, rows) + (first + skip - row - 1);
                            std::copy_n(values + skip, count - skip, to);
                          });
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
    const T *grads = grad.as<T>(), *lengths = distances.as<T>();
    // Each row gathers from all of its pairs, so that threads write different rows.
    parallel_for(0, rows, rows_per_thread(rows * n), [&](int64_t begin, int64_t end) {
      std::vector<T> own_grads(static_cast<size_t>(rows)), own_lengths(static_cast<size_t>(rows));
      for (int64_t i = begin; i < end; ++i) {
        const auto add = [&](int64_t first, int64_t count, const T* of_grads, const T* of_lengths) {
          add_slopes(a + i * n, a + first * n, count, n, norm, T(p), of_grads, of_lengths,
                     out.as<T>() + i * n);
        };
        for (int64_t j = 0; j < i; ++j) {
          const int64_t pair = pairs_before(j, rows) + i - j - 1;
          own_grads[size_t(j)] = grads[pair], own_lengths[size_t(j)] = lengths[pair];
        }
        const int64_t later = pairs_before(i, rows);
        add(0, i, own_grads.data(), own_lengths.data());
        add(i + 1, rows - i - 1, grads + later, lengths + later);
      }
    });
  });
}

}  // namespace mt::kernels
