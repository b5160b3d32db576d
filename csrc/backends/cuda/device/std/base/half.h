// Stands for base/half.h in code for the device: the same storage types, converted by the chip's instructions.
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
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(h));
    return value;
  }
  static uint16_t from_float(float value) {
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(value));
    return h;
  }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float value) : bits(from_float(value)) {}
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }

  static uint16_t from_float(float value) {
    uint16_t b;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(value));
    return b;
  }
};

}  // namespace mt
