// Where an element lies in tensors with strides, and updates that several threads may do at once.
#pragma once

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"

namespace mt::cuda {

// f(n, coordinates) for this thread's elements of the shape.
template <class F> void walk_over(const Walk& walk, F f) {
  for (int64_t n = first_index(); n < walk.count; n += grid_step()) {
    int64_t at[kMaxShapeDims];
    int64_t left = n;
    for (int d = 0; d < walk.dims; ++d) {
      const int64_t size = walk.sizes[d];
      // Most tensors are small enough for the division that the chip is fast at.
      const int64_t next =
          left < 0x7fffffff && size < 0x7fffffff ? int64_t(uint32_t(left) / uint32_t(size)) : left / size;
      at[d] = left - next * size;
      left = next;
    }
    f(n, at);
  }
}
inline int64_t place_of(const Walk& walk, const Places& places, const int64_t* at) {
  int64_t offset = 0;
  for (int d = 0; d < walk.dims; ++d) offset += at[d] * places.strides[d];
  return offset;
}
template <class T> T& element(const Walk& walk, const Places& places, const int64_t* at) {
  return static_cast<T*>(places.data)[place_of(walk, places, at)];
}

// Replaces *at by f(*at) as one step. Narrow types by way of the word that they are in.
template <class T, class F> void update_at_once(T* at, F f) {
  if constexpr (sizeof(T) == 8) {
    auto* word = reinterpret_cast<unsigned long long*>(at);
    unsigned long long seen = *word, before;
    do {
      before = seen;
      seen = atomicCAS(word, before, std::bit_cast<unsigned long long>(T(f(std::bit_cast<T>(before)))));
    } while (seen != before);
  } else if constexpr (sizeof(T) == 4) {
    auto* word = reinterpret_cast<unsigned*>(at);
    unsigned seen = *word, before;
    do {
      before = seen;
      seen = atomicCAS(word, before, std::bit_cast<unsigned>(T(f(std::bit_cast<T>(before)))));
    } while (seen != before);
  } else {
    using Bits = typename kernels::unsigned_of<sizeof(T)>::type;
    const uintptr_t address = reinterpret_cast<uintptr_t>(at);
    auto* word = reinterpret_cast<unsigned*>(address & ~uintptr_t(3));
    const int shift = int(address & 3) * 8;
    const unsigned mask = unsigned(Bits(~Bits(0))) << shift;
    unsigned seen = *word, before;
    do {
      before = seen;
      const T value = T(f(std::bit_cast<T>(Bits(before >> shift))));
      seen = atomicCAS(word, before, (before & ~mask) | unsigned(std::bit_cast<Bits>(value)) << shift);
    } while (seen != before);
  }
}

template <class T> void add_at_once(T* at, T value) {
  if constexpr (kernels::is_complex_v<T>) {
    using R = typename T::value_type;
    add_at_once(reinterpret_cast<R*>(at), value.real());
    add_at_once(reinterpret_cast<R*>(at) + 1, value.imag());
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t>) {
    atomicAdd(at, value);
  } else if constexpr (std::is_same_v<T, int64_t>) {
    atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    if (value) *at = true;  // whoever comes last writes the same
  } else {
    using C = compute_t<T>;
    update_at_once(at, [value](T old) { return cast<T>(kernels::math::add(C(old), C(value))); });
  }
}

// A wrong index cannot raise here: the launch fails, as PyTorch's do, and the host reports it when it next waits.
inline int64_t checked_index(int64_t i, int64_t size, bool wraps) {
  const int64_t wrapped = wraps && i < 0 ? i + size : i;
  if (wrapped < 0 || wrapped >= size) {
    printf("index %lld is out of bounds for a dimension of size %lld\n", (long long)(i), (long long)(size));
    __trap();
  }
  return wrapped;
}

}  // namespace mt::cuda
