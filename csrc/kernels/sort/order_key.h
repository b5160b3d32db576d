// Values as unsigned integers of the same order, so that sorting needs to know four widths instead of all dtypes.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/common/types.h"

namespace mt::kernels {

template <class T> using order_key_t = typename unsigned_of<sizeof(T)>::type;

// All NaNs share the largest key, and -0 has the key of 0.
template <class T>
[[gnu::always_inline]] inline order_key_t<T> order_key(T value) {
  using K = order_key_t<T>;
  constexpr K top = K(K(1) << (8 * sizeof(T) - 1));
  if constexpr (std::is_same_v<T, bool>) {
    return K(value);
  } else if constexpr (std::is_integral_v<T>) {
    return std::is_signed_v<T> ? K(K(value) ^ top) : K(value);
  } else {
    const compute_t<T> number(value);
    if (number != number) return K(~K(0));
    if (number == 0) return top;
    const K bits = std::bit_cast<K>(value);
    return bits & top ? K(~bits) : K(bits | top);
  }
}

}  // namespace mt::kernels
