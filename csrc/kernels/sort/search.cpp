#include <algorithm>
#include <limits>
#include <memory>

#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/sort/sort.h"

namespace mt::kernels {
namespace {

constexpr int64_t kSearchesTogether = 64;

// A block of binary searches side by side, step by step: what depends on a comparison is a mask, not a jump. The middles
// are those of a search on its own, on which the place of a number among NaNs depends.
// A place is as wide as a number, as vectors want it.
template <class T, class Place>
struct Searches {
  template <bool kRight>
  [[gnu::always_inline]] static inline void search(const T* values, int64_t count, const T* bounds,
                                                   int64_t length, Place* low) {
    using C = compute_t<T>;
    Place high[kSearchesTogether];
    for (int64_t i = 0; i < count; ++i) low[i] = 0, high[i] = Place(length);
    for (int64_t left = length; left > 0; left >>= 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) {
        const Place open = -Place(low[i] < high[i]), middle = low[i] + ((high[i] - low[i]) >> 1);
        const C bound(bounds[middle & open]), value(values[i]);
        const Place after = -Place(kRight ? bound > value : bound >= value);
        low[i] += open & ~after & (middle + 1 - low[i]);
        high[i] += open & after & (middle - high[i]);
      }
    }
  }
  [[gnu::always_inline]] static inline void run(const T* values, int64_t count, const T* bounds,
                                                int64_t length, bool right, Place* low) {
    if (right) search<true>(values, count, bounds, length, low);
    else search<false>(values, count, bounds, length, low);
  }
};

}  // namespace

void search_sorted(const View& boundaries, const View* sorter, const View& values, bool right,
                   const View& out) {
  const int64_t length = boundaries.ndim ? boundaries.sizes[boundaries.ndim - 1] : 1;
  const int64_t count = values.numel();
  const bool shared = boundaries.ndim == 1;
  const int64_t per_row =
      shared || values.ndim == 0 ? std::max<int64_t>(count, 1) : values.sizes[values.ndim - 1];
  dispatch<domains::real>(values.dtype, "searchsorted_out_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* bounds = boundaries.as<T>();
    std::unique_ptr<T[]> sorted;
    if (sorter) {
      const int64_t total = boundaries.numel();
      sorted.reset(new T[size_t(total)]);
      for (int64_t i = 0; i < total; ++i) {
        const int64_t at = sorter->as<int64_t>()[i];
        MT_CHECK(at >= 0 && at < length, "torch.searchsorted(): sorter index out of range");
        sorted[size_t(i)] = bounds[i / length * length + at];
      }
      bounds = sorted.get();
    }
    const auto search_all = [&]<class Place>(type_tag<Place>) {
      parallel_for(0, count, kGrain / 16, [&](int64_t begin, int64_t end) {
        Place places[kSearchesTogether];
        while (begin < end) {
          const int64_t row = begin / per_row, rest = (row + 1) * per_row - begin;
          const int64_t n = std::min({kSearchesTogether, end - begin, rest});
          at_level<Searches<T, Place>>(values.as<T>() + begin, n, bounds + row * length, length, right,
                                       &places[0]);
          if (out.dtype == DType::int32) std::copy_n(places, n, out.as<int32_t>() + begin);
          else std::copy_n(places, n, out.as<int64_t>() + begin);
          begin += n;
        }
      });
    };
    if (sizeof(compute_t<T>) == 8 || length >= std::numeric_limits<int32_t>::max())
      search_all(type_tag<int64_t>{});
    else search_all(type_tag<int32_t>{});
  });
}

}  // namespace mt::kernels
