#include "kernels/sort/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "kernels/common/arithmetic.h"
#include "kernels/common/convert.h"
#include "kernels/common/copy.h"
#include "kernels/common/dense.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

constexpr int64_t kBlock = 1024;  // elements brought together at a time

// Sums of shares by bin, by pieces of the input whose number depends on sizes only and which threads share out.
// add(begin, end, table) adds those of a piece to a table that has one place more than there are bins, for what is in
// none.
template <class S, class Add>
void sum_in_bins(int64_t numel, int64_t bins, const View& out, const Add& add) {
  const int64_t pieces = std::clamp<int64_t>(std::min(numel / (2 * kGrain), numel / (4 * bins + 1)), 1, 64);
  const int64_t each = (numel + pieces - 1) / pieces, places = bins + 1;
  std::vector<S> tables(size_t(pieces * places), S(0));
  parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p)
      add(std::min(numel, p * each), std::min(numel, (p + 1) * each), tables.data() + p * places);
  });
  for (int64_t p = 1; p < pieces; ++p)
    for (int64_t i = 0; i < bins; ++i) tables[size_t(i)] += tables[size_t(p * places + i)];
  const int64_t stride = 1;
  copy(View{tables.data(), &bins, &stride, 1, dtype_of<S>}, out);
}

// A vector of numbers as C, a block at a time.
template <class C>
struct Reader {
  const char* data;
  int64_t stride;
  Converter load;
  bool direct;
  explicit Reader(const View& view)
      : data(view.as<char>()),
        stride(view.strides[0] * int64_t(itemsize(view.dtype))),
        load(converter(view.dtype, dtype_of<C>)),
        direct(view.dtype == dtype_of<C> && view.strides[0] == 1) {}
  const C* block(int64_t begin, int64_t n, C* buffer) const {
    const char* from = data + begin * stride;
    if (direct) return reinterpret_cast<const C*>(from);
    load(from, stride, reinterpret_cast<char*>(buffer), sizeof(C), n);
    return buffer;
  }
};

// The bin of each element, or behind the last one, computed with the digits that the elements have.
template <class T>
struct BinPlaces {
  using C = std::conditional_t<std::is_integral_v<T>, double, compute_t<T>>;
  [[gnu::always_inline]] static inline C rounded(C value) {
    if constexpr (is_half_v<T>) return C(cast<T>(value));
    else return value;
  }
  [[gnu::always_inline]] static inline void run(const C* x, int64_t n, double from, double to, int32_t bins,
                                                int32_t* places) {
    const C low = rounded(C(from)), high = rounded(C(to)), width = rounded(high - low),
            count = rounded(C(bins));
    for (int64_t i = 0; i < n; ++i) {
      const bool inside = (x[i] >= low) & (x[i] <= high);
      const C at = rounded(rounded(rounded(x[i] - low) * count) / width);
      const int32_t place = int32_t(math::select(inside, at, C(0)));
      places[i] = inside ? std::min(place, bins - 1) : bins;
    }
  }
};

}  // namespace

void histogram(const View& in, const View& out, double low, double high) {
  MT_CHECK(out.ndim == 1 && out.sizes[0] > 0, "histc: the result must be a vector with at least one bin");
  const int64_t bins = out.sizes[0];
  MT_CHECK(bins < std::numeric_limits<int32_t>::max(), "histc: ", bins, " bins are too many");
  const Dense elements(in, in.dtype, Access::read);
  const int64_t numel = elements.numel(), stride = 1;
  const View line{elements.view().data, &numel, &stride, 1, in.dtype};
  if (low == high && numel > 0) {
    const Reader<double> values(line);
    low = std::numeric_limits<double>::infinity(), high = -low;
    double buffer[kBlock];
    for (int64_t begin = 0; begin < numel; begin += kBlock) {
      const int64_t n = std::min(kBlock, numel - begin);
      const double* x = values.block(begin, n, buffer);
      for (int64_t i = 0; i < n; ++i) low = math::minimum(x[i], low), high = math::maximum(x[i], high);
    }
  }
  if (low == high) low -= 1, high += 1;
  MT_CHECK(std::isfinite(low) && std::isfinite(high), "histc: range of [", low, ", ", high,
           "] is not finite");
  dispatch<domains::real>(in.dtype, "histc", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = typename BinPlaces<T>::C;
    const Reader<C> values(line);
    sum_in_bins<int64_t>(numel, bins, out, [&](int64_t first, int64_t last, int64_t* counts) {
      alignas(64) C buffer[kBlock];
      alignas(64) int32_t places[kBlock];
      for (int64_t begin = first; begin < last; begin += kBlock) {
        const int64_t n = std::min(kBlock, last - begin);
        at_level<BinPlaces<T>>(values.block(begin, n, buffer), n, low, high, int32_t(bins), places);
        for (int64_t i = 0; i < n; ++i) ++counts[places[i]];
      }
    });
  });
}

void count_values(const View& in, const View* weights, const View& out) {
  MT_CHECK(in.ndim == 1 && out.ndim == 1, "bincount: the input and the result must be vectors");
  const int64_t numel = in.sizes[0], bins = out.sizes[0];
  const Reader<int64_t> values(in);
  const auto checked = [&](int64_t begin, int64_t n, int64_t* buffer) {
    const int64_t* x = values.block(begin, n, buffer);
    uint64_t largest = 0;  // as unsigned numbers, negative ones are too large as well
    for (int64_t i = 0; i < n; ++i) largest = std::max(largest, uint64_t(x[i]));
    MT_CHECK(n == 0 || largest < uint64_t(bins), "bincount: value ", int64_t(largest),
             " has no place in a result of size ", bins);
    return x;
  };
  if (!weights) {
    return sum_in_bins<int64_t>(numel, bins, out, [&](int64_t first, int64_t last, int64_t* counts) {
      alignas(64) int64_t buffer[kBlock];
      for (int64_t begin = first; begin < last; begin += kBlock) {
        const int64_t n = std::min(kBlock, last - begin);
        const int64_t* x = checked(begin, n, buffer);
        for (int64_t i = 0; i < n; ++i) ++counts[x[i]];
      }
    });
  }
  const Reader<double> shares(*weights);
  sum_in_bins<double>(numel, bins, out, [&](int64_t first, int64_t last, double* counts) {
    alignas(64) int64_t buffer[kBlock];
    alignas(64) double weight_buffer[kBlock];
    for (int64_t begin = first; begin < last; begin += kBlock) {
      const int64_t n = std::min(kBlock, last - begin);
      const int64_t* x = checked(begin, n, buffer);
      const double* share = shares.block(begin, n, weight_buffer);
      for (int64_t i = 0; i < n; ++i) counts[x[i]] += share[i];
    }
  });
}

}  // namespace mt::kernels
