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

// Without infinities, negative zero and a sign of NaN, which is the pattern of a negative zero; what is too large
// becomes NaN. kLimit: the first float that does, as bits.
template <int kMantissa, int kBias, uint32_t kLimit>
struct Float8Unsigned0 {
  uint8_t bits = 0;
  Float8Unsigned0() = default;
  Float8Unsigned0(float value) : bits(from_float(value)) {}
  operator float() const {
    if (bits == 0x80u) return std::bit_cast<float>(0x7fc00000u);
    constexpr float scale = std::bit_cast<float>(uint32_t(254 - kBias) << 23);
    const float magnitude = std::bit_cast<float>(uint32_t(bits & 0x7fu) << (23 - kMantissa)) * scale;
    return bits & 0x80u ? -magnitude : magnitude;
  }

  static uint8_t from_float(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint8_t sign = uint8_t((word >> 24) & 0x80u);
    const uint32_t magnitude = word & 0x7fffffffu;
    if (magnitude >= kLimit) return 0x80u;
    if (magnitude < (uint32_t(128 - kBias) << 23)) {  // subnormal or zero
      constexpr uint32_t unit = uint32_t(151 - kBias - kMantissa) << 23;
      const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(unit);
      const uint32_t rounded = std::bit_cast<uint32_t>(shifted) - unit;
      return rounded ? uint8_t(sign | rounded) : 0;
    }
    constexpr int dropped = 23 - kMantissa;
    const uint32_t odd = (magnitude >> dropped) & 1u;
    constexpr uint32_t moved = (1u << (dropped - 1)) - 1u - (uint32_t(127 - kBias) << 23);
    return uint8_t(sign | ((magnitude + moved + odd) >> dropped));
  }
};
using Float8E4M3Nuz = Float8Unsigned0<3, 8, 0x43780000u>;   // from 248
using Float8E5M2Nuz = Float8Unsigned0<2, 16, 0x47700000u>;  // from 61440

// An exponent alone: powers of two, for the scales of blocks. No sign, no zero, one NaN.
struct Float8E8M0 {
  uint8_t bits = 0;
  Float8E8M0() = default;
  Float8E8M0(float value) : bits(from_float(value)) {}
  operator float() const {
    if (bits == 0xffu) return std::bit_cast<float>(0x7fc00000u);
    return std::bit_cast<float>(bits ? uint32_t(bits) << 23 : 0x00400000u);
  }

  static uint8_t from_float(float value) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
    const uint32_t exponent = magnitude >> 23, rest = magnitude & 0x7fffffu;
    if (exponent == 0xffu) return 0xffu;
    // From one and a half on it is the next power; a tie below the smallest power is not.
    return uint8_t(exponent + (exponent ? rest >= 0x400000u : rest > 0x400000u));
  }
};

}  // namespace mt
