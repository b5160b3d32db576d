// Which elements are not zero, and runs of a number: indices that are made instead of followed.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kernels/common/arithmetic.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/index/indexed.h"

namespace mt::kernels {
namespace {

constexpr int64_t kBlock = kGrain / 4;

int64_t blocks_of(int64_t numel) { return (numel + kBlock - 1) / kBlock; }

// Compilers make no vectors of bools, but of bytes.
template <class T>
const T* as_numbers(const T* data) {
  return data;
}
inline const uint8_t* as_numbers(const bool* data) { return reinterpret_cast<const uint8_t*>(data); }

// In short runs, whose counts fit the width of an element.
template <class T>
int64_t count_in(const T* data, int64_t n) {
  constexpr int64_t run = 128;
  using Count =
      std::conditional_t<sizeof(T) == 1, uint8_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;
  const auto* numbers = as_numbers(data);
  using N = std::remove_cvref_t<decltype(*numbers)>;
  int64_t total = 0;
  for (int64_t begin = 0; begin < n; begin += run) {
    const int64_t end = std::min(n, begin + run);
    Count count = 0;
    for (int64_t i = begin; i < end; ++i) count = Count(count + Count(numbers[i] != N(0)));
    total += count;
  }
  return total;
}

// Writes the places of the elements of data[0, n) that are not zero to `places`, which has room for all, without branches.
template <class T>
int64_t places_in(const T* data, int64_t n, int32_t* places) {
  const auto* numbers = as_numbers(data);
  using N = std::remove_cvref_t<decltype(*numbers)>;
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    places[count] = int32_t(i);
    count += numbers[i] != N(0);
  }
  return count;
}

// Elements are looked at in runs: rows along one dimension, of a few elements each, which are those of the dimensions
// inside it. In a run only the coordinates of these dimensions change, as in every other one.
constexpr int64_t kRun = 512;
struct Runs {
  int along;
  int64_t width = 1;  // elements of a row
  std::vector<std::array<int32_t, kRun>>
      by;  // coordinates of an element relative to its run's first, from `along` on

  explicit Runs(const View& in) : along(in.ndim - 1) {
    constexpr int64_t wide = 64;
    for (; along > 0 && width * in.sizes[along] <= wide; --along) width *= in.sizes[along];
    by.resize(size_t(in.ndim - along));
    const int64_t longest = std::min(kRun, in.numel());
    int64_t inner = 1;  // elements for which a coordinate stays
    for (int d = in.ndim - 1; d >= along; inner *= in.sizes[d--]) {
      const int64_t end = d > along ? in.sizes[d] : kRun;
      int32_t* coordinates = by[size_t(d - along)].data();
      for (int64_t i = 0, value = 0; i < longest; value = value + 1 < end ? value + 1 : 0)
        for (const int64_t last = std::min(longest, i + inner); i < last; ++i)
          coordinates[i] = int32_t(value);
    }
  }
  // How many elements the run from element i on has.
  int64_t length(int64_t i, const View& in) const {
    const int64_t rows = std::min(kRun / width, in.sizes[along] - i / width % in.sizes[along]);
    return rows * width - i % width;
  }
};

// How many elements of each block are not zero.
template <class T>
std::vector<int64_t> counts_per_block(const T* data, int64_t numel) {
  std::vector<int64_t> counts(size_t(blocks_of(numel)), 0);
  parallel_for(0, int64_t(counts.size()), 4, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t last = std::min(numel, (b + 1) * kBlock);
      counts[size_t(b)] = count_in(data + b * kBlock, last - b * kBlock);
    }
  });
  return counts;
}

}  // namespace

int64_t count_nonzero(const View& in) {
  int64_t total = 0;
  dispatch<domains::every>(in.dtype, "count_nonzero", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t count : counts_per_block(in.as<T>(), in.numel())) total += count;
  });
  return total;
}

int64_t nonzero(const View& in, const View& out) {
  MT_CHECK(out.dtype == DType::int64, "nonzero_static: Expected out tensor to have scalar type Long but got ",
           info(out.dtype).name);
  const int64_t numel = in.numel(), room = out.sizes[0], row = out.strides[0], column = out.strides[1];
  if (in.ndim == 0 || numel == 0) return count_nonzero(in);  // no coordinates
  int64_t total = 0;
  dispatch<domains::every>(in.dtype, "nonzero", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = in.as<T>();
    std::vector<int64_t> starts = counts_per_block(data, numel);
    for (int64_t& start : starts) start = std::exchange(total, total + start);
    const Runs runs(in);
    parallel_for(0, int64_t(starts.size()), 4, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t last = std::min(numel, (b + 1) * kBlock);
        int64_t at = starts[size_t(b)];
        for (int64_t i = b * kBlock; i < last && at < room;) {
          const int64_t run = std::min(runs.length(i, in), last - i), phase = i % runs.width;
          int32_t places[kRun];
          const int64_t count = std::min(places_in(data + i, run, places), room - at);
          int64_t* target = out.as<int64_t>() + at * row;
          int64_t rest = i / runs.width;
          for (int d = in.ndim - 1; d >= 0; --d) {
            const bool moves = d >= runs.along;
            const int64_t first = d > runs.along ? 0 : d > 0 ? rest % in.sizes[d] : rest;
            if (d <= runs.along && d > 0) rest /= in.sizes[d];
            int64_t* coordinate = target + d * column;
            const int32_t* by = moves ? runs.by[size_t(d - runs.along)].data() + phase : nullptr;
            for (int64_t j = 0; j < count; ++j) coordinate[j * row] = first + (by ? by[places[j]] : 0);
          }
          at += count;
          i += run;
        }
      }
    });
  });
  return total;
}

void repeat_runs(const View& repeats, const View& out) {
  const int64_t count = repeats.numel(), length = out.numel();
  int64_t at = 0;
  const int64_t step = repeats.ndim ? repeats.strides[0] : 0, stride = out.strides[0];
  dispatch<dtype_set(DType::int32, DType::int64)>(repeats.dtype, "repeat_interleave", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t j = 0; j < count; ++j) {
      const int64_t n = int64_t(repeats.as<T>()[j * step]);
      MT_CHECK(n >= 0, "repeats can not be negative");
      MT_CHECK(n <= length - at, "allocated size does not match required size");
      if (out.dtype == DType::int64) {
        for (int64_t i = 0; i < n; ++i) out.as<int64_t>()[(at + i) * stride] = j;
      } else {
        for (int64_t i = 0; i < n; ++i) out.as<int32_t>()[(at + i) * stride] = int32_t(j);
      }
      at += n;
    }
  });
  MT_CHECK(at == length, "allocated size does not match required size");
}

}  // namespace mt::kernels
