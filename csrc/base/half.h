// Sixteen-bit floating point: storage types that convert to and from float.
// Arithmetic happens in float (see `compute_t` in kernels/common/types.h), so none is defined here.
#pragma once

#include <bit>
#include <cstdint>

namespace mt {

struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float value) : bits(from_float(value)) {}
  operator float() const { return to_float(bits); }

  static float to_float(uint16_t h) {
    const uint32_t sign = uint32_t(h & 0x8000u) << 16;
    const uint32_t rest = h & 0x7fffu;
    if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
    // Scaling by 2^112 moves the exponent bias and normalises subnormals in one multiplication.
    const float scaled = std::bit_cast<float>(rest << 13) * std::bit_cast<float>(0x77800000u);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
  }

  static uint16_t from_float(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint16_t sign = uint16_t((word >> 16) & 0x8000u);
    const uint32_t magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return uint16_t(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) return uint16_t(sign | 0x7c00u);   // rounds to infinity
    if (magnitude < 0x38800000u) {                                   // subnormal half or zero
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;  // the adder does the rounding
      return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
    }
    const uint32_t odd = (magnitude >> 13) & 1u;
    return uint16_t(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float value) : bits(from_float(value)) {}
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }

  static uint16_t from_float(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) return uint16_t((word >> 16) | 0x40u);
    return uint16_t((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
};

}  // namespace mt
