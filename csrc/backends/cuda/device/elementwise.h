// Elementwise kernels: one functor over up to three operands, dense or with any strides, of any dtypes.
//
// `dense`: a thread reads 16 bytes of the widest operand at a time, twice; grid: count / (block * Elementwise::kEach),
// rounded up. `listed`: the same over several tensors. `grouped`: the same elements along the innermost dimension, a group a turn, any grid; the call counts groups,
// and operands lie dense along one or are the same. `strided`: an element a turn, any grid; `strided_long` is for more than 2^31 elements or bytes.
#pragma once

#include "backends/cuda/device/arguments.h"
#include "backends/cuda/device/functors.h"

namespace mt::cuda {

// An operand that is a number, the same for all elements, of the compute type.
struct Given {};

template <class T> inline constexpr int kOperandBytes = int(sizeof(T));
template <> inline constexpr int kOperandBytes<Given> = 1;

// 0, 1, … of the operands.
template <int... i> struct Places {};
template <int count, int... i> struct PlacesUpTo : PlacesUpTo<count - 1, count - 1, i...> {};
template <int... i> struct PlacesUpTo<0, i...> {
  using type = Places<i...>;
};

// The half type among operands' types, or void.
template <class... T> struct HalfAmong {
  using type = void;
};
template <class T, class... Rest> struct HalfAmong<T, Rest...> {
  using type = std::conditional_t<kernels::is_half_v<T>, T, typename HalfAmong<Rest...>::type>;
};

template <class T, int N>
struct alignas(sizeof(T) * N) Group {
  T value[N];
};

__device__ inline unsigned divide(unsigned n, const Divisor& by) {
  return unsigned((unsigned long long)(__umulhi(n, by.factor)) + n >> by.shift);
}

template <class F, class Out, class C, class... In>
struct Elementwise {
  static constexpr int kInputs = int(sizeof...(In));
  static constexpr int widest() {
    int most = int(sizeof(Out));
    ((most = kOperandBytes<In> > most ? kOperandBytes<In> : most), ...);
    return most;
  }
  static constexpr int kTogether = widest() >= 16 ? 1 : 16 / widest() > 8 ? 8 : 16 / widest();
  static constexpr int kTurns = 2;
  static constexpr int kEach = kTogether * kTurns;

  // An integer that meets halves becomes one of them, which may round it, before both are computed with.
  template <class T>
  static __device__ C as_operand(const T& x, const Numbers&) {
    using Met = typename HalfAmong<In...>::type;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<Met, void>)
      return kernels::cast<C>(kernels::cast<Met>(x));
    else return kernels::cast<C>(x);
  }
  static __device__ C as_operand(const Given&, const Numbers& numbers) {
    return *reinterpret_cast<const C*>(numbers.bytes + kMaxNumbers * 16);
  }
  static __device__ Out apply(const Numbers& numbers, const In&... x) {
    const C* p = reinterpret_cast<const C*>(numbers.bytes);
    return kernels::cast<Out>(F::apply(as_operand(x, numbers)..., p));
  }

  template <class T>
  static __device__ Group<T, kTogether> read_group(const void* data, long long at) {
    return *reinterpret_cast<const Group<T, kTogether>*>(static_cast<const T*>(data) + at);
  }
  template <class T>
  static __device__ T read(const void* data, long long bytes) {
    return *reinterpret_cast<const T*>(static_cast<const char*>(data) + bytes);
  }

  static __device__ void dense(const DenseCall& call) {
    dense_over({call.data, call.count, call.numbers, blockIdx.x}, typename PlacesUpTo<kInputs>::type{});
  }
  static __device__ void listed(const ListedCall& call) {
    int low = 0, high = call.number - 1;  // the last tensor whose blocks begin here or before
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (call.blocks[middle] <= int(blockIdx.x)) low = middle;
      else high = middle - 1;
    }
    dense_over({call.data[low], call.counts[low], call.numbers, blockIdx.x - unsigned(call.blocks[low])},
               typename PlacesUpTo<kInputs>::type{});
  }
  static __device__ void grouped(const StridedCall& call) {
    grouped_over(call, typename PlacesUpTo<kInputs>::type{});
  }
  template <class Index>
  static __device__ void strided(const StridedCall& call) {
    strided_over<Index>(call, typename PlacesUpTo<kInputs>::type{});
  }

 private:
  // What a block of `dense` does: part `block` of these operands.
  struct Part {
    void* const* data;
    long long count;
    const Numbers& numbers;
    unsigned block;
  };

  template <class T, int operand>
  struct Source {
    Group<T, kTogether> group[kTurns];
    __device__ void load(const Part& call, int turn, long long at) {
      group[turn] = read_group<T>(call.data[operand + 1], at);
    }
    __device__ const T& get(int turn, int i) const { return group[turn].value[i]; }
  };
  template <int operand>
  struct Source<Given, operand> {
    Given nothing;
    __device__ void load(const Part&, int, long long) {}
    __device__ const Given& get(int, int) const { return nothing; }
  };

  template <int... i>
  static __device__ void dense_over(const Part& call, Places<i...>) {
    dense_with(call, Source<In, i>{}...);
  }
  template <class... S>
  static __device__ void dense_with(const Part& call, S... source) {
    Out* out = static_cast<Out*>(call.data[0]);
    const long long first =
        (long long)(call.block) * blockDim.x * kEach + (long long)(threadIdx.x) * kTogether;
    const long long step = (long long)(blockDim.x) * kTogether;
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const long long at = first + turn * step;
      if (at + kTogether <= call.count) (source.load(call, turn, at), ...);
    }
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const long long at = first + turn * step;
      if (at + kTogether <= call.count) {
        Group<Out, kTogether> made;
#pragma unroll
        for (int k = 0; k < kTogether; ++k) made.value[k] = apply(call.numbers, source.get(turn, k)...);
        *reinterpret_cast<Group<Out, kTogether>*>(out + at) = made;
      } else {
        for (long long k = at; k < call.count; ++k) tail(call, out, k, typename PlacesUpTo<kInputs>::type{});
      }
    }
  }
  template <int... i>
  static __device__ void tail(const Part& call, Out* out, long long k, Places<i...>) {
    out[k] = apply(call.numbers, element<In>(call.data[i + 1], k)...);
  }
  template <class T>
  static __device__ T element(const void* data, long long k) {
    if constexpr (std::is_same_v<T, Given>) return {};
    else return static_cast<const T*>(data)[k];
  }

  // Where the operands of an element, or of a group, lie.
  template <class Index>
  static __device__ void find(const StridedCall& call, Index left, long long* at) {
    for (int o = 0; o <= kInputs; ++o) at[o] = 0;
    for (int d = 0; d < call.dims; ++d) {
      Index next, here;
      if constexpr (sizeof(Index) == 4) {
        next = divide(left, call.sizes[d]);
        here = left - next * call.sizes[d].value;
      } else {
        next = left / Index(call.long_sizes[d]);
        here = left - next * Index(call.long_sizes[d]);
      }
#pragma unroll
      for (int o = 0; o <= kInputs; ++o) at[o] += (long long)(here)*call.strides[d][o];
      left = next;
    }
  }

  template <class T, int operand>
  struct GroupOf {
    Group<T, kTogether> group;
    __device__ void load(const StridedCall& call, const long long* at) {
      const char* data = static_cast<const char*>(call.data[operand + 1]) + at[operand + 1];
      if (call.repeated >> (operand + 1) & 1) {
        const T value = *reinterpret_cast<const T*>(data);
#pragma unroll
        for (int k = 0; k < kTogether; ++k) group.value[k] = value;
      } else {
        group = *reinterpret_cast<const Group<T, kTogether>*>(data);
      }
    }
    __device__ const T& get(int k) const { return group.value[k]; }
  };
  template <int operand>
  struct GroupOf<Given, operand> {
    Given nothing;
    __device__ void load(const StridedCall&, const long long*) {}
    __device__ const Given& get(int) const { return nothing; }
  };
  template <int... i>
  static __device__ void grouped_over(const StridedCall& call, Places<i...>) {
    grouped_with(call, GroupOf<In, i>{}...);
  }
  template <class... S>
  static __device__ void grouped_with(const StridedCall& call, S... source) {
    const unsigned threads = gridDim.x * blockDim.x;
    for (unsigned n = blockIdx.x * blockDim.x + threadIdx.x; n < unsigned(call.count); n += threads) {
      long long at[kInputs + 1];
      find<unsigned>(call, n, at);
      (source.load(call, at), ...);
      Group<Out, kTogether> made;
#pragma unroll
      for (int k = 0; k < kTogether; ++k) made.value[k] = apply(call.numbers, source.get(k)...);
      *reinterpret_cast<Group<Out, kTogether>*>(static_cast<char*>(call.data[0]) + at[0]) = made;
    }
  }

  template <class Index, int... i>
  static __device__ void strided_over(const StridedCall& call, Places<i...>) {
    const Index threads = Index(gridDim.x) * blockDim.x;
    for (Index n = Index(blockIdx.x) * blockDim.x + threadIdx.x; n < Index(call.count); n += threads) {
      long long at[kInputs + 1];
      find<Index>(call, n, at);
      *reinterpret_cast<Out*>(static_cast<char*>(call.data[0]) + at[0]) =
          apply(call.numbers, strided_element<In>(call.data[i + 1], at[i + 1])...);
    }
  }
  template <class T>
  static __device__ T strided_element(const void* data, long long bytes) {
    if constexpr (std::is_same_v<T, Given>) return {};
    else return read<T>(data, bytes);
  }
};

// Values as they are, from one dtype to another; and one value everywhere.
struct copy_op {
  template <class T> static __device__ T apply(T x, const T*) { return x; }
};
// The second where the first is true, else the third.
struct where_op {
  template <class T> static __device__ T apply(T condition, T a, T b, const T*) {
    return condition != T(0) ? a : b;
  }
};

}  // namespace mt::cuda
