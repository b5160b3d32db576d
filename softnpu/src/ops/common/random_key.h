// The key of random numbers from a seed and an offset.
#pragma once

#include <cstdint>

namespace softnpu::ops {

// Programs raise the offset by an amount of their own from call to call. Mixing it into the key makes the numbers of
// two calls independent however little they raise it. (The mixer is splitmix64's.)
inline uint64_t random_key(uint64_t seed, uint64_t offset) {
  uint64_t z = seed + (offset + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace softnpu::ops
