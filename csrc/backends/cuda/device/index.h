// Reading and writing through indices: gather, scatter, index, index_put, index_add, index_copy, index_fill, take, put,
// index_select, embedding, nonzero and their kin, as kernels/index/indexed.h has them.
//
// Launch: block 256 and any grid unless said otherwise (elements are strided over).
//   gathered<V>(LookupCall): other = table at the index. V: an unsigned integer of the element's width, or Several<uint64_t, 2>.
//   scattered<V>: table at the index = other. Which one stays where several meet is open, as in PyTorch.
//   combined<T, how>: table at the index combined with other in one step each; sums of floats in no fixed order.
//   offsets_added: other (int64) += index * stride: several index tensors become one, whose size is 2^63 - 1 and stride 1.
//   rows_gathered<V>(RowsCall): index_select and embedding of whole rows in units of V. Grid: rows; block: width in whole
//     warps, at most 256.
//   meetings_added<T>(MeetingCall): index_put with accumulate, in a fixed order; places come from sort.h. A thread for each
//     element of each value.
//   nonzero: nonzero_counted<T> (block 256; grid: ceil(count / 4096) blocks of 4096 elements), counts_scanned (one block of
//     1024; `limit` is the number of counts), nonzero_written<T> (as the first). counts[blocks] is the number of them all.
//   runs_found(RunsCall).
#pragma once

#include "backends/cuda/device/places.h"

namespace mt::cuda {

inline int64_t looked_up(const LookupCall& call, const int64_t* at) {
  const int64_t i = element<const int64_t>(call.walk, call.index, at);
  return checked_index(i, call.size, call.wraps != 0) * call.stride;
}

template <class V> void gathered(const LookupCall& call) {
  walk_over(call.walk, [&](int64_t, const int64_t* at) {
    const V* from =
        static_cast<const V*>(call.table.data) + place_of(call.walk, call.table, at) + looked_up(call, at);
    element<V>(call.walk, call.other, at) = *from;
  });
}
template <class V> void scattered(const LookupCall& call) {
  walk_over(call.walk, [&](int64_t, const int64_t* at) {
    V* to = static_cast<V*>(call.table.data) + place_of(call.walk, call.table, at) + looked_up(call, at);
    *to = element<V>(call.walk, call.other, at);
  });
}

enum class Combined { add, multiply, min, max };

template <class T, Combined kHow> void combined(const LookupCall& call) {
  using C = compute_t<T>;
  walk_over(call.walk, [&](int64_t, const int64_t* at) {
    T* to = static_cast<T*>(call.table.data) + place_of(call.walk, call.table, at) + looked_up(call, at);
    const T value = element<T>(call.walk, call.other, at);
    if constexpr (kHow == Combined::add) {
      add_at_once(to, value);
    } else if constexpr (sizeof(T) <= 8) {
      update_at_once(to, [value](T old) {
        const C a = C(old), b = C(value);
        if constexpr (kHow == Combined::multiply) return cast<T>(kernels::math::mul(a, b));
        else if constexpr (kHow == Combined::min) return cast<T>(kernels::math::minimum(a, b));
        else return cast<T>(kernels::math::maximum(a, b));
      });
    }
  });
}

inline void offsets_added(const LookupCall& call) {
  walk_over(call.walk, [&](int64_t, const int64_t* at) {
    element<int64_t>(call.walk, call.other, at) += looked_up(call, at);
  });
}

template <class V> void rows_gathered(const RowsCall& call) {
  for (int64_t row = blockIdx.x; row < call.rows; row += gridDim.x) {
    const int64_t from = checked_index(call.index[row], call.size, call.wraps != 0);
    const V* source = static_cast<const V*>(call.table) + from * call.pitch;
    V* out = static_cast<V*>(call.out) + row * call.width;
    for (int64_t i = threadIdx.x; i < call.width; i += blockDim.x) out[i] = source[i];
  }
}

// The thread of a run's first value adds up the run, one after the other.
template <class T> void meetings_added(const MeetingCall& call) {
  using C = compute_t<T>;
  for (int64_t n = first_index(); n < call.count * call.width; n += grid_step()) {
    const int64_t k = n / call.width, column = n % call.width, place = call.places[k];
    if (k > 0 && call.places[k - 1] == place) continue;
    T& to = static_cast<T*>(call.table)[place * call.width + column];
    C sum = C(to);
    for (int64_t j = k; j < call.count && call.places[j] == place; ++j)
      sum =
          kernels::math::add(sum, C(static_cast<const T*>(call.values)[call.order[j] * call.width + column]));
    to = cast<T>(sum);
  }
}

inline constexpr int kNonzeroEach = 16, kNonzeroBlock = 256, kNonzeroChunk = kNonzeroEach * kNonzeroBlock;

template <class T> bool is_nonzero(const void* in, int64_t i) {
  return compute_t<T>(static_cast<const T*>(in)[i]) != compute_t<T>(0);
}
// Elements lie in the order of threads: a thread has kNonzeroEach beside each other.
template <class T> int nonzero_of_thread(const NonzeroCall& call, int64_t begin) {
  int found = 0;
  for (int k = 0; k < kNonzeroEach; ++k)
    if (begin + k < call.count) found += is_nonzero<T>(call.in, begin + k);
  return found;
}
template <class T> void nonzero_counted(const NonzeroCall& call) {
  const int64_t begin = int64_t(blockIdx.x) * kNonzeroChunk + int64_t(threadIdx.x) * kNonzeroEach;
  const int all = sum_block(nonzero_of_thread<T>(call, begin));
  if (threadIdx.x == 0) call.counts[blockIdx.x] = all;
}

// How many come before this thread's in the block, and the sum of all.
template <class A> std::pair<A, A> before_in_block(A mine) {
  __shared__ A of_warps[32];
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  A up_to = mine;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const A below = from_lane_below(up_to, step);
    if (lane >= step) up_to += below;
  }
  __syncthreads();
  if (lane == 31) of_warps[warp] = up_to;
  __syncthreads();
  A before = up_to - mine, all = 0;
  for (int w = 0; w < int(blockDim.x) / 32; ++w) {
    if (w < warp) before += of_warps[w];
    all += of_warps[w];
  }
  return {before, all};
}
// In place: counts become what comes before; one more is the sum. One block.
inline void counts_scanned(const NonzeroCall& call) {
  int64_t carried = 0;
  for (int64_t begin = 0; begin < call.limit; begin += blockDim.x) {
    const int64_t i = begin + threadIdx.x;
    const auto [before, all] = before_in_block<int64_t>(i < call.limit ? call.counts[i] : 0);
    if (i < call.limit) call.counts[i] = carried + before;
    carried += all;
  }
  if (threadIdx.x == 0) call.counts[call.limit] = carried;
}
template <class T> void nonzero_written(const NonzeroCall& call) {
  const int64_t begin = int64_t(blockIdx.x) * kNonzeroChunk + int64_t(threadIdx.x) * kNonzeroEach;
  int64_t row = call.counts[blockIdx.x] + before_in_block<int>(nonzero_of_thread<T>(call, begin)).first;
  for (int k = 0; k < kNonzeroEach && begin + k < call.count; ++k) {
    if (!is_nonzero<T>(call.in, begin + k)) continue;
    if (row < call.limit) {
      int64_t left = begin + k;
      for (int d = call.dims - 1; d >= 0; --d) {
        call.out[row * call.dims + d] = left % call.sizes[d];
        left /= call.sizes[d];
      }
    }
    ++row;
  }
}

inline void runs_found(const RunsCall& call) {
  for (int64_t i = first_index(); i < call.count; i += grid_step()) {
    int64_t low = 0, high = call.runs;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (call.ends[middle] <= i) low = middle + 1;
      else high = middle;
    }
    call.out[i] = low;
  }
}

}  // namespace mt::cuda
