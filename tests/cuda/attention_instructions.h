// Stands for device/std/attention_instructions.h on the host.
#pragma once

#include "tensor_cores.h"

namespace mt::cuda {

// Lanes tell each other where their rows lie, and read of them what they are given.
inline const uint32_t* const* rows_of_warp(const uint32_t* row) {
  static const uint32_t* rooms[2][32 * 32];
  static int room[32 * 32];
  const int thread = emulated::thread();
  if (uintptr_t(row) % 16) std::abort();
  const uint32_t** given =
      rooms[room[thread] ^= 1] + thread / 32 * 32;  // who is ahead writes into the other one
  given[thread % 32] = row;
  emulated::warps[size_t(thread / 32)].wait();
  return given;
}
inline void read_matrices(uint32_t (&to)[4], const uint32_t* row) {
  const uint32_t* const* rows = rows_of_warp(row);
  const int lane = emulated::thread() % 32;
  for (int m = 0; m < 4; ++m) to[m] = rows[m * 8 + lane / 4][lane % 4];
}
inline void read_matrices_turned(uint32_t (&to)[4], const uint32_t* row) {
  const uint32_t* const* rows = rows_of_warp(row);
  const int lane = emulated::thread() % 32, column = lane / 4;
  const auto half = [&](int r) { return rows[r][column / 2] >> column % 2 * 16 & 0xffffu; };
  for (int m = 0; m < 4; ++m) to[m] = half(m * 8 + lane % 4 * 2) | half(m * 8 + lane % 4 * 2 + 1) << 16;
}

inline void copy_number_later(float* to, const float* from, bool exists) {
  copy_some_later(to, from, exists ? 4 : 0, 4);
}

inline float rounded_product(float x, float y) {
  const volatile float product = x * y;
  return product;
}

}  // namespace mt::cuda
