// Reductions over any dimensions: outputs along the grid, and for few outputs of many terms several parts of the terms
// side by side, whose results a second launch combines. The order of additions depends on sizes alone.
//
// `rows`: a block of (32, warps) threads, a warp for each output: for terms that lie side by side, or few outputs.
// `columns`: a block of (32, depth) threads, a thread of the first dimension for each output: for outputs that lie side
// by side; threads of the second dimension share the terms. Grid: (outputs / 32 or / warps, parts).
// `whole`: a block of 512 for each output and part.
#pragma once

#include "backends/cuda/device/arguments.h"
#include "backends/cuda/device/functors.h"

namespace mt::cuda {

// Chips add floats many times faster than doubles: what is added up in double on the CPU is kept in float here, in many
// partial sums.
template <class A, class T> struct DeviceAccumulator {
  using type = A;
};
template <> struct DeviceAccumulator<double, float> {
  using type = float;
};
template <> struct DeviceAccumulator<complex128, complex64> {
  using type = complex64;
};

// F over terms of type In, computed in C, with results of type Out.
template <class F, class Out, class C, class In>
struct Reduce {
  using A = typename DeviceAccumulator<typename F::template accumulator<C>, C>::type;

  static __device__ A term(const In& x) {
    const C value = kernels::cast<C>(x);
    if constexpr (requires { F::template load<A>(value); }) return F::template load<A>(value);
    else return kernels::cast<A>(value);
  }

  static __device__ long long kept_offset(const ReduceCall& call, long long output) {
    long long offset = 0;
    for (int d = 0; d < call.kept_dims; ++d) {
      offset += output % call.kept_sizes[d] * call.kept_strides[d];
      output /= call.kept_sizes[d];
    }
    return offset;
  }
  static __device__ long long out_offset(const ReduceCall& call, long long output) {
    long long offset = 0;
    for (int d = 0; d < call.kept_dims; ++d) {
      offset += output % call.kept_sizes[d] * call.out_strides[d];
      output /= call.kept_sizes[d];
    }
    return offset;
  }

  // The terms first, first + step, … before `end`, of the output whose terms begin at `in`.
  static __device__ A fold(const ReduceCall& call, const In* in, long long first, long long end,
                           long long step) {
    A sum[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] = F::template identity<A>();
    if (call.dense_groups) return fold_groups(call, in, first, end, step);
    if (call.folded_dims == 1) {
      const long long stride = call.folded_strides[0];
      long long i = first;
      for (; i + 3 * step < end; i += 4 * step) {
        In x[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) x[k] = in[(i + k * step) * stride];
#pragma unroll
        for (int k = 0; k < 4; ++k) sum[k] = F::template combine<A>(sum[k], term(x[k]));
      }
      for (; i < end; i += step) sum[0] = F::template combine<A>(sum[0], term(in[i * stride]));
    } else {
      for (long long i = first; i < end; i += step) {
        long long left = i, offset = 0;
        for (int d = 0; d < call.folded_dims; ++d) {
          offset += left % call.folded_sizes[d] * call.folded_strides[d];
          left /= call.folded_sizes[d];
        }
        sum[0] = F::template combine<A>(sum[0], term(in[offset]));
      }
    }
    return F::template combine<A>(F::template combine<A>(sum[0], sum[1]),
                                  F::template combine<A>(sum[2], sum[3]));
  }

  // The same where terms lie side by side and rows begin at whole groups: a thread reads 16 bytes at a time. The threads
  // that share an output are `step`, and `first` counts from the part's beginning.
  static constexpr int kGroup = sizeof(In) >= 16 ? 1 : int(16 / sizeof(In));
  struct alignas(sizeof(In) * kGroup) GroupOfTerms {
    In value[kGroup];
  };
  static __device__ A fold_groups(const ReduceCall& call, const In* in, long long first, long long end,
                                  long long step) {
    const long long begin = part_begin(call), thread = first - begin, whole = (end - begin) / kGroup;
    const GroupOfTerms* groups = reinterpret_cast<const GroupOfTerms*>(in + begin);
    A sum[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] = F::template identity<A>();
    long long i = thread;
    for (; i + 3 * step < whole; i += 4 * step) {
      GroupOfTerms x[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) x[k] = groups[i + k * step];
#pragma unroll
      for (int k = 0; k < 4; ++k)
#pragma unroll
        for (int v = 0; v < kGroup; ++v) sum[k] = F::template combine<A>(sum[k], term(x[k].value[v]));
    }
    for (; i < whole; i += step) {
      const GroupOfTerms x = groups[i];
#pragma unroll
      for (int v = 0; v < kGroup; ++v) sum[0] = F::template combine<A>(sum[0], term(x.value[v]));
    }
    for (long long rest = begin + whole * kGroup + thread; rest < end; rest += step)
      sum[1] = F::template combine<A>(sum[1], term(in[rest]));
    return F::template combine<A>(F::template combine<A>(sum[0], sum[1]),
                                  F::template combine<A>(sum[2], sum[3]));
  }

  static __device__ A from_lane(A value, int distance) {
    constexpr int words = (sizeof(A) + 3) / 4;
    union {
      A value;
      unsigned word[words];
    } mine{value}, theirs{value};
#pragma unroll
    for (int w = 0; w < words; ++w) theirs.word[w] = __shfl_down_sync(0xffffffffu, mine.word[w], distance);
    return theirs.value;
  }
  static __device__ A over_warp(A sum) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      sum = F::template combine<A>(sum, from_lane(sum, distance));
    return sum;
  }

  static __device__ auto finished(const ReduceCall& call, A sum) {
    if constexpr (requires { F::template finish<A>(sum, call.count, call.number); })
      return F::template finish<A>(sum, call.count, call.number);
    else return F::template finish<A>(sum, call.count);
  }
  static __device__ void store(const ReduceCall& call, long long output, A sum) {
    if (gridDim.y > 1) {
      static_cast<A*>(call.out)[output * gridDim.y + blockIdx.y] = sum;
    } else {
      static_cast<Out*>(call.out)[out_offset(call, output)] = kernels::cast<Out>(finished(call, sum));
    }
  }
  static __device__ long long part_begin(const ReduceCall& call) { return blockIdx.y * call.terms_per_part; }
  static __device__ long long part_end(const ReduceCall& call) {
    const long long end = part_begin(call) + call.terms_per_part;
    return end < call.terms ? end : call.terms;
  }

  static __device__ void rows(const ReduceCall& call) {
    const long long output = (long long)(blockIdx.x) * blockDim.y + threadIdx.y;
    if (output >= call.outputs) return;
    const In* in = static_cast<const In*>(call.in) + kept_offset(call, output);
    const A sum = over_warp(fold(call, in, part_begin(call) + threadIdx.x, part_end(call), 32));
    if (threadIdx.x == 0) store(call, output, sum);
  }

  static __device__ void whole(const ReduceCall& call) {
    alignas(16) __shared__ char memory[16 * sizeof(A)];
    A* partial = reinterpret_cast<A*>(memory);
    const long long output = blockIdx.x;
    const In* in = static_cast<const In*>(call.in) + kept_offset(call, output);
    A sum = over_warp(fold(call, in, part_begin(call) + threadIdx.x, part_end(call), 512));
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = over_warp(threadIdx.x < 16 ? partial[threadIdx.x] : F::template identity<A>());
    if (threadIdx.x == 0) store(call, output, sum);
  }

  static __device__ void columns(const ReduceCall& call) {
    alignas(16) __shared__ char memory[32 * 16 * sizeof(A)];
    A* partial = reinterpret_cast<A*>(memory);
    const long long output = (long long)(blockIdx.x) * 32 + threadIdx.x;
    const bool is_output = output < call.outputs;
    A sum = F::template identity<A>();
    if (is_output) {
      const In* in = static_cast<const In*>(call.in) + kept_offset(call, output);
      sum = fold(call, in, part_begin(call) + threadIdx.y, part_end(call), blockDim.y);
    }
    partial[threadIdx.y * 32 + threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.y / 2; half > 0; half /= 2) {
      if (threadIdx.y < half)
        partial[threadIdx.y * 32 + threadIdx.x] = F::template combine<A>(
            partial[threadIdx.y * 32 + threadIdx.x], partial[(threadIdx.y + half) * 32 + threadIdx.x]);
      __syncthreads();
    }
    if (threadIdx.y == 0 && is_output) store(call, output, partial[threadIdx.x]);
  }

  // Combines what the parts of a first launch left: a warp for each output.
  static __device__ void parts(const ReduceCall& call) {
    const long long output = (long long)(blockIdx.x) * blockDim.y + threadIdx.y;
    if (output >= call.outputs) return;
    const A* in = static_cast<const A*>(call.in) + output * call.terms;
    A sum = F::template identity<A>();
    for (long long i = threadIdx.x; i < call.terms; i += 32) sum = F::template combine<A>(sum, in[i]);
    sum = over_warp(sum);
    if (threadIdx.x == 0) store(call, output, sum);
  }
};

// Variance, or its root: count, mean and sum of squared distances, merged as Chan does. Finishes with the correction.
template <class C> struct Spread {
  C count, mean, squares;
};
template <bool kRoot> struct spread_op {
  template <class C> using accumulator = Spread<C>;
  template <class A> static __device__ A identity() { return {0, 0, 0}; }
  template <class A, class C> static __device__ A load(C x) { return {C(1), x, C(0)}; }
  template <class A> static __device__ A combine(A a, A b) {
    const auto count = a.count + b.count;
    if (count == 0) return a;
    const auto away = b.mean - a.mean, share = b.count / count;
    return {count, a.mean + away * share, a.squares + b.squares + away * away * a.count * share};
  }
  template <class A> static __device__ auto finish(A all, long long count, double correction) {
    using C = decltype(all.squares);
    const double divisor = double(count) - correction;
    const C variance = all.squares / C(divisor > 0 ? divisor : 0);
    if constexpr (kRoot) return C(std::sqrt(variance));
    else return variance;
  }
};

// The logarithm of a sum of exponentials: the largest term, and the sum of all in relation to it.
struct log_sum_exp_op {
  template <class C> struct Relative {
    C top, sum;
  };
  template <class C> using accumulator = Relative<C>;
  template <class A, class C> static __device__ A load(C x) { return {x, C(1)}; }
  template <class A> static __device__ A identity() {
    using C = decltype(A::top);
    return {kernels::lowest_value<C>(), C(0)};
  }
  template <class A> static __device__ A combine(A a, A b) {
    using C = decltype(A::top);
    const C top = kernels::math::maximum(a.top, b.top);
    // The same: also of infinities, whose difference is not a number.
    const C of_a = a.top == top ? C(1) : C(std::exp(a.top - top));
    const C of_b = b.top == top ? C(1) : C(std::exp(b.top - top));
    return {top, a.sum * of_a + b.sum * of_b};
  }
  template <class A> static __device__ auto finish(A a, long long) { return a.top + std::log(a.sum); }
};

}  // namespace mt::cuda
