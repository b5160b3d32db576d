// Stands for device/std/tensor_cores.h on the host: the lanes of a warp hand each other what they have.
#pragma once

#include <cstring>
#include <deque>

#include "base/half.h"
#include "emulated.h"

namespace mt::cuda {

template <class Multiply>
void multiplied(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Multiply multiply) {
  struct Given {
    uint32_t a[4], b[2];
  };
  static Given rooms[2][32 * 32];
  static int room[32 * 32];
  const int thread = emulated::thread(), first = thread / 32 * 32, g = thread % 32 / 4, t = thread % 4;
  Given* given = rooms[room[thread] ^= 1] + first;  // who is ahead writes into the other one
  std::memcpy(given[thread % 32].a, a, sizeof a);
  std::memcpy(given[thread % 32].b, b, sizeof b);
  emulated::warps[size_t(thread / 32)].wait();
  for (int i = 0; i < 4; ++i) {
    const int column = 2 * t + i % 2;
    double sum = c[i];
    for (int k = 0; k < 8; ++k)
      sum += multiply(given[g * 4 + k % 4].a[i / 2 + k / 4 * 2], given[column * 4 + k % 4].b[k / 4]);
    c[i] = float(sum);
    if (std::fabs(double(c[i])) > std::fabs(sum)) c[i] = std::nextafter(c[i], 0.0f);  // chips cut off
  }
}

template <class T>
double half_products(uint32_t a, uint32_t b) {
  const auto x = std::bit_cast<std::array<T, 2>>(a), y = std::bit_cast<std::array<T, 2>>(b);
  return double(float(x[0])) * double(float(y[0])) + double(float(x[1])) * double(float(y[1]));
}

inline void multiply_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  multiplied(c, a, b, [](uint32_t x, uint32_t y) {
    return double(std::bit_cast<float>(x & 0xffffe000u)) * double(std::bit_cast<float>(y & 0xffffe000u));
  });
}
inline void multiply_half(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  multiplied(c, a, b, half_products<Half>);
}
inline void multiply_bfloat16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  multiplied(c, a, b, half_products<BFloat16>);
}
inline float power_of_two(float x) {
  const float power = std::exp2(x);
  return power < 0x1p-126f ? 0 : power;
}
inline uint32_t two_halves(float low, float high) {
  return std::bit_cast<uint32_t>(std::array<Half, 2>{Half(low), Half(high)});
}
inline uint32_t two_bfloat16(float low, float high) {
  return std::bit_cast<uint32_t>(std::array<BFloat16, 2>{BFloat16(low), BFloat16(high)});
}

// As late as they may come: what is read before its copy is waited for is old.
struct LateCopy {
  void* to;
  const void* from;
  size_t bytes, room;  // zeros behind what exists

  void finish() const {
    std::memset(to, 0, room);
    if (bytes) std::memcpy(to, from, bytes);
  }
};
struct LateCopies {
  std::vector<LateCopy> begun;
  std::deque<std::vector<LateCopy>> groups;
};
inline LateCopies late_copies[32 * 32];

inline void copy_some_later(void* to, const void* from, size_t bytes, size_t room) {
  if (uintptr_t(to) % room || uintptr_t(from) % room) std::abort();
  late_copies[emulated::thread()].begun.push_back({to, from, bytes, room});
}
inline void copy_later(void* to, const void* from, bool exists) {
  copy_some_later(to, from, exists ? 16 : 0, 16);
}
inline void copy_some_later(void* to, const float* from, int numbers) {
  copy_some_later(to, from, size_t(numbers) * 4, 16);
}
inline void copies_begun() {
  LateCopies& own = late_copies[emulated::thread()];
  own.groups.push_back(std::move(own.begun));
  own.begun.clear();
}
template <int kLast>
void copies_done_but() {
  LateCopies& own = late_copies[emulated::thread()];
  for (; own.groups.size() > kLast; own.groups.pop_front())
    for (const LateCopy& copy : own.groups.front()) copy.finish();
}
inline void copies_done() {
  copies_begun();
  copies_done_but<0>();
}

inline uint32_t* launched_memory() {
  alignas(16) static uint32_t launched[227 * 256];  // of no size that a chip does not have
  return launched;
}

}  // namespace mt::cuda
