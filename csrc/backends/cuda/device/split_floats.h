// A float as the sum of two numbers of TF32, which tensor cores multiply. Note [Three products]
#pragma once

#include <bit>
#include <cstdint>

namespace mt::cuda {

// What is behind a float's first 10 bits of the fraction is not looked at by the products: `big` is cut off.
inline void split(uint32_t word, uint32_t& big, uint32_t& small) {
  big = word & 0xffffe000u;
  small = std::bit_cast<uint32_t>(std::bit_cast<float>(word) - std::bit_cast<float>(big));
}
// Rounded instead of cut off: a sum of its own, which needs not be moved to where its neighbours are.
inline void split_rounded(uint32_t word, uint32_t& big, uint32_t& small) {
  big = (word + 0x1000u) & 0xffffe000u;
  small = std::bit_cast<uint32_t>(std::bit_cast<float>(word) - std::bit_cast<float>(big));
}

}  // namespace mt::cuda
