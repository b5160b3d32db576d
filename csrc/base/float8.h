// Eight-bit floating point, for storage and casts: no operator computes in it.
#pragma once

#include <bit>
#include <cstdint>

#include "base/half.h"

namespace mt {

// 1 sign, 4 exponent and 3 mantissa bits; no infinities, one NaN; what is too large becomes 448.
struct Float8E4M3 {
  uint8_t bits = 0;
  Float8E4M3() = default;
  Float8E4M3(float value) : bits(from_float(value)) {}
  operator float() const {
    const uint32_t sign = uint32_t(bits & 0x80u) << 24, rest = bits & 0x7fu;
    if (rest == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
    // Scaling by 2^120 moves the exponent bias and normalises subnormals in one multiplication.
    const float scaled = std::bit_cast<float>(rest << 20) * std::bit_cast<float>(0x7b800000u);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
  }

  static uint8_t from_float(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint8_t sign = uint8_t((word >> 24) & 0x80u);
    const uint32_t magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return uint8_t(sign | 0x7fu);   // NaN
    if (magnitude >= 0x43e80000u) return uint8_t(sign | 0x7eu);  // too large, infinite: the largest value
    if (magnitude < 0x3c800000u) {                               // subnormal or zero
      const float shifted = std::bit_cast<float>(magnitude) + 16384.0f;  // the adder does the rounding
      return uint8_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x46800000u));
    }
    const uint32_t odd = (magnitude >> 20) & 1u;
    return uint8_t(sign | ((magnitude - 0x3c000000u + 0x7ffffu + odd) >> 20));
  }
};

// 1 sign, 5 exponent and 2 mantissa bits: the upper byte of a half.
struct Float8E5M2 {
  uint8_t bits = 0;
  Float8E5M2() = default;
  Float8E5M2(float value) : bits(from_float(value)) {}
  operator float() const { return Half::to_float(uint16_t(bits << 8)); }

  static uint8_t from_float(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint8_t sign = uint8_t((word >> 24) & 0x80u);
    const uint32_t magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return uint8_t(sign | 0x7fu);
    if (magnitude >= 0x47800000u) return uint8_t(sign | 0x7cu);        // 65536 and above
    if (magnitude < 0x38800000u) {                                     // subnormal or zero
      const float shifted = std::bit_cast<float>(magnitude) + 128.0f;  // the adder does the rounding
      return uint8_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x43000000u));
    }
    const uint32_t odd = (magnitude >> 21) & 1u;
    return uint8_t(sign | ((magnitude - 0x38000000u + 0xfffffu + odd) >> 21));
  }
};

}  // namespace mt
