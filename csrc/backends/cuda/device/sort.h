// Sorting rows, in order and stable, and searching in them. Values become unsigned keys of the same order (order_key.h), so
// that only widths count: NaN is larger than every number, and equal elements keep their order, whichever way.
//
// Launch (SortCall), dense rows [rows, length], length < 2^31:
//   keys_made<T, descending>: keys and order 0, 1, 2, ... Block 256, any grid.
//   rows_chosen<T, descending>: the same of the `length` first in order of each row of `source` elements, in any order: digit
//     after digit from the highest, the elements are counted that may be the last of them. Block 1024, grid min(rows, 2^31 - 1).
//   rows_sorted<K>: length <= 2048, in shared memory: block 1024, grid min(rows, 2^31 - 1). Else, for each 4 bits of the key
//     from the lowest (shift 0, 4, ...; tiles = ceil(length / 2048)):
//     digits_counted<K> (block 256, grid (tiles, rows)), digits_scanned (block 256, grid rows),
//     digits_moved<K> (block 256, grid (tiles, rows)), then keys and other_keys, order and other_order change places.
//   sorted_taken<T>: values and indices of `taken` places from `first` on: sort (all), topk, kthvalue, median. Any grid.
//   median_taken<T, ignores_nan>: of each row sorted upwards the lower of the two in the middle, or its first NaN; a thread
//     for each row.
//   mode_found<T>: the most frequent of each sorted row and where it stands last; a thread for each row.
//   searched<T, Out>(SearchCall): searchsorted and bucketize; a thread for each value.
#pragma once

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"
#include "kernels/sort/order_key.h"

namespace mt::cuda {

using kernels::order_key;
using kernels::order_key_t;

template <class T, bool kDescending> void keys_made(const SortCall& call) {
  using K = order_key_t<T>;
  for (int64_t n = first_index(); n < call.rows * call.length; n += grid_step()) {
    const K key = order_key(static_cast<const T*>(call.in)[n]);
    static_cast<K*>(call.keys)[n] = kDescending ? K(~key) : key;
    call.order[n] = unsigned(n % call.length);
  }
}

template <class T, bool kDescending> void rows_chosen(const SortCall& call) {
  using K = order_key_t<T>;
  __shared__ unsigned counts[256];
  __shared__ unsigned digit, left, written;
  const int64_t step = blockDim.x;
  for (int64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    const T* in = static_cast<const T*>(call.in) + row * call.source;
    const auto key_at = [&](int64_t i) {
      const K key = order_key(in[i]);
      return kDescending ? K(~key) : key;
    };
    __syncthreads();
    if (threadIdx.x == 0) left = unsigned(call.length), written = 0;
    // The digit that the last of the chosen has; digit_at is -1 for elements that cannot be it.
    const auto last_digit = [&](auto digit_at) {
      __syncthreads();
      for (int64_t i = threadIdx.x; i < 256; i += step) counts[i] = 0;
      __syncthreads();
      for (int64_t i = threadIdx.x; i < call.source; i += step) {
        const int found = digit_at(i);
        if (found >= 0) atomicAdd(&counts[found], 1u);
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        unsigned at = 0;
        while (left > counts[at]) left -= counts[at++];
        digit = at;
      }
      __syncthreads();
      return digit;
    };
    K last = 0, seen = 0;
    for (int shift = int(sizeof(K)) * 8 - 8; shift >= 0; shift -= 8) {
      last |= K(K(last_digit([&](int64_t i) {
                  const K key = key_at(i);
                  return (key & seen) == last ? int(key >> shift & 255) : -1;
                }))
                << shift);
      seen |= K(K(255) << shift);
    }
    unsigned place = 0xffffffffu;  // of the last among its equals, if not all are chosen
    if (counts[digit] != left) {
      place = 0;
      unsigned places_seen = 0;
      for (int shift = 24; shift >= 0; shift -= 8) {
        place |= last_digit([&](int64_t i) {
                   return key_at(i) == last && (unsigned(i) & places_seen) == place
                              ? int(unsigned(i) >> shift & 255)
                              : -1;
                 })
                 << shift;
        places_seen |= 255u << shift;
      }
    }
    for (int64_t i = threadIdx.x; i < call.source; i += step) {
      const K key = key_at(i);
      if (key > last || (key == last && unsigned(i) > place)) continue;
      const int64_t at = row * call.length + atomicAdd(&written, 1u);
      static_cast<K*>(call.keys)[at] = key;
      call.order[at] = unsigned(i);
    }
  }
}

inline constexpr int kSortTile = 2048;

// Bitonic: pairs of a key and its place are all different, so that equals keep their order.
template <class K> void rows_sorted(const SortCall& call) {
  __shared__ K keys[kSortTile];
  __shared__ unsigned order[kSortTile];
  int padded = 2;
  while (padded < call.length) padded *= 2;
  for (int64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    K* own_keys = static_cast<K*>(call.keys) + row * call.length;
    unsigned* own_order = call.order + row * call.length;
    __syncthreads();
    for (int i = int(threadIdx.x); i < padded; i += int(blockDim.x)) {
      const bool inside = i < call.length;
      keys[i] = inside ? own_keys[i] : K(~K(0));
      order[i] = inside ? own_order[i] : 0xffffffffu;
    }
    for (int size = 2; size <= padded; size *= 2) {
      for (int step = size / 2; step > 0; step /= 2) {
        __syncthreads();
        for (int p = int(threadIdx.x); p < padded / 2; p += int(blockDim.x)) {
          const int low = 2 * step * (p / step) + p % step, high = low + step;
          const bool ascends = (low & size) == 0;
          const bool swapped =
              keys[low] > keys[high] || (keys[low] == keys[high] && order[low] > order[high]);
          if (swapped == ascends) {
            std::swap(keys[low], keys[high]);
            std::swap(order[low], order[high]);
          }
        }
      }
    }
    __syncthreads();
    for (int i = int(threadIdx.x); i < call.length; i += int(blockDim.x)) {
      own_keys[i] = keys[i];
      own_order[i] = order[i];
    }
  }
}

inline constexpr int kDigits = 16, kDigitEach = kSortTile / 256;

template <class K> unsigned digit_of(K key, int shift) { return unsigned(key >> shift) & (kDigits - 1); }

// Each thread has kDigitEach neighbours, so that threads in order are elements in order.
template <class K, class F> void over_tile(const SortCall& call, F f) {
  const int64_t begin = int64_t(blockIdx.x) * kSortTile + int64_t(threadIdx.x) * kDigitEach;
  const int64_t row = int64_t(blockIdx.y) * call.length;
  for (int k = 0; k < kDigitEach && begin + k < call.length; ++k) f(row + begin + k);
}

template <class K> void digits_counted(const SortCall& call) {
  __shared__ unsigned found[kDigits];
  if (threadIdx.x < kDigits) found[threadIdx.x] = 0;
  __syncthreads();
  over_tile<K>(call, [&](int64_t at) {
    atomicAdd(&found[digit_of(static_cast<const K*>(call.keys)[at], call.shift)], 1u);
  });
  __syncthreads();
  if (threadIdx.x < kDigits)
    call.counts[(int64_t(blockIdx.y) * kDigits + threadIdx.x) * call.tiles + blockIdx.x] = found[threadIdx.x];
}

// What comes before this thread's number in the block, and the sum of all.
inline std::pair<unsigned, unsigned> summed_before(unsigned mine) {
  __shared__ unsigned of_warps[32];
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  unsigned up_to = mine;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const unsigned below = __shfl_up_sync(0xffffffffu, up_to, step);
    if (lane >= step) up_to += below;
  }
  __syncthreads();
  if (lane == 31) of_warps[warp] = up_to;
  __syncthreads();
  unsigned before = up_to - mine, all = 0;
  for (int w = 0; w < int(blockDim.x) / 32; ++w) {
    if (w < warp) before += of_warps[w];
    all += of_warps[w];
  }
  return {before, all};
}
inline void digits_scanned(const SortCall& call) {
  unsigned* counts = call.counts + int64_t(blockIdx.x) * kDigits * call.tiles;
  const int64_t number = int64_t(kDigits) * call.tiles;
  unsigned carried = 0;
  for (int64_t begin = 0; begin < number; begin += blockDim.x) {
    const int64_t i = begin + threadIdx.x;
    const auto [before, all] = summed_before(i < number ? counts[i] : 0u);
    if (i < number) counts[i] = carried + before;
    carried += all;
  }
}

template <class K> void digits_moved(const SortCall& call) {
  __shared__ unsigned short of_threads[kDigits][256];
  for (int d = 0; d < kDigits; ++d) of_threads[d][threadIdx.x] = 0;
  over_tile<K>(call, [&](int64_t at) {
    ++of_threads[digit_of(static_cast<const K*>(call.keys)[at], call.shift)][threadIdx.x];
  });
  for (int d = 0; d < kDigits; ++d) {
    const auto [before, all] = summed_before(of_threads[d][threadIdx.x]);
    of_threads[d][threadIdx.x] = static_cast<unsigned short>(before);
  }
  const int64_t row = int64_t(blockIdx.y) * call.length;
  over_tile<K>(call, [&](int64_t at) {
    const K key = static_cast<const K*>(call.keys)[at];
    const unsigned d = digit_of(key, call.shift);
    const unsigned base = call.counts[(int64_t(blockIdx.y) * kDigits + d) * call.tiles + blockIdx.x];
    const int64_t to = row + base + of_threads[d][threadIdx.x]++;
    static_cast<K*>(call.other_keys)[to] = key;
    call.other_order[to] = call.order[at];
  });
}

template <class T> void sorted_taken(const SortCall& call) {
  for (int64_t n = first_index(); n < call.rows * call.taken; n += grid_step()) {
    const int64_t row = n / call.taken;
    const unsigned place = call.order[row * call.length + call.first + n % call.taken];
    if (call.values)
      static_cast<T*>(call.values)[n] = static_cast<const T*>(call.in)[row * call.source + place];
    if (call.indices) call.indices[n] = place;
  }
}
template <class T, bool kIgnoresNan> void median_taken(const SortCall& call) {
  using K = order_key_t<T>;
  for (int64_t row = first_index(); row < call.rows; row += grid_step()) {
    const K* keys = static_cast<const K*>(call.keys) + row * call.length;
    int64_t numbers = call.length;  // NaNs lie behind them
    if constexpr (!std::is_integral_v<T>) {
      int64_t low = 0;
      while (low < numbers) {
        const int64_t middle = (low + numbers) / 2;
        if (keys[middle] == K(~K(0))) numbers = middle;
        else low = middle + 1;
      }
    }
    const bool is_nan = numbers == 0 || (numbers < call.length && !kIgnoresNan);
    const unsigned place = call.order[row * call.length + (is_nan ? numbers : (numbers - 1) / 2)];
    static_cast<T*>(call.values)[row] = static_cast<const T*>(call.in)[row * call.length + place];
    if (call.indices) call.indices[row] = place;
  }
}
template <class T> void mode_found(const SortCall& call) {
  using K = order_key_t<T>;
  for (int64_t row = first_index(); row < call.rows; row += grid_step()) {
    const K* keys = static_cast<const K*>(call.keys) + row * call.length;
    int64_t best = 0, run = 0, end = 0;
    for (int64_t i = 0; i < call.length; ++i) {
      run = i > 0 && keys[i] == keys[i - 1] ? run + 1 : 1;
      if (run > best) best = run, end = i;
    }
    const unsigned place = call.order[row * call.length + end];
    static_cast<T*>(call.values)[row] = static_cast<const T*>(call.in)[row * call.length + place];
    call.indices[row] = place;
  }
}

template <class T, class Out> void searched(const SearchCall& call) {
  for (int64_t n = first_index(); n < call.rows * call.each; n += grid_step()) {
    const int64_t row = call.shared ? 0 : n / call.each * call.length;
    const auto wanted = order_key(static_cast<const T*>(call.values)[n]);
    int64_t low = 0, high = call.length;
    while (low < high) {
      const int64_t middle = (low + high) / 2, place = call.sorter ? call.sorter[row + middle] : middle;
      const auto here = order_key(static_cast<const T*>(call.boundaries)[row + place]);
      if (call.right ? here <= wanted : here < wanted) low = middle + 1;
      else high = middle;
    }
    static_cast<Out*>(call.out)[n] = Out(low);
  }
}

}  // namespace mt::cuda
