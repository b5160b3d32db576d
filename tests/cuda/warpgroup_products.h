// Stands for device/std/warpgroup_products.h on the host.
#pragma once

#include <deque>

#include "attention_instructions.h"

namespace mt::cuda {

inline uint32_t* launched_wide_memory() {
  alignas(1024) static uint32_t launched[227 * 256];
  return launched;
}

// In 16 bytes, as chips count.
inline uint64_t wide_operand(const uint32_t* room, int words) {
  return uint64_t(uintptr_t(room + words) / 16);
}

// As late as they may come: what is read before it is waited for is old.
struct LateProduct {
  float (*to)[4];
  int columns;
  std::array<std::array<double, 8>, 2> rows;  // of a, that this lane needs
  uint64_t b;
  bool adds;

  double right(int column, int k) const {
    const uintptr_t address = uintptr_t(b) * 16, begin = address & ~uintptr_t(1023);
    const int piece = int(address - begin) / 16 + k / 4;
    if (piece > 7) std::abort();
    const auto* const row = reinterpret_cast<const uint32_t*>(begin + uintptr_t(column) * 128);
    return double(std::bit_cast<float>(row[(piece ^ column % 8) * 4 + k % 4] & 0xffffe000u));
  }
  void finish() const {
    const int t = emulated::thread() % 4;
    for (int n = 0; n < columns / 8; ++n)
      for (int i = 0; i < 4; ++i) {
        double sum = adds ? to[n][i] : 0;
        for (int k = 0; k < 8; ++k) sum += rows[size_t(i / 2)][size_t(k)] * right(n * 8 + 2 * t + i % 2, k);
        to[n][i] = float(sum);
        if (std::fabs(double(to[n][i])) > std::fabs(sum)) to[n][i] = std::nextafter(to[n][i], 0.0f);
      }
  }
};
struct LateProducts {
  std::vector<LateProduct> begun;
  std::deque<std::vector<LateProduct>> groups;
};
inline LateProducts late_products[32 * 32];

template <int kColumns>
struct WideProduct {
  using Sums = float[kColumns / 8][4];
  static void begin(Sums& c, const uint32_t (&a)[4], uint64_t b) { multiply(c, a, b, false); }
  static void add(Sums& c, const uint32_t (&a)[4], uint64_t b) { multiply(c, a, b, true); }
  static void multiply(Sums& c, const uint32_t (&a)[4], uint64_t b, bool adds) {
    static uint32_t rooms[2][32 * 32][4];
    static int room[32 * 32];
    const int thread = emulated::thread(), first = thread / 32 * 32, g = thread % 32 / 4;
    auto* const given = rooms[room[thread] ^= 1] + first;  // who is ahead writes into the other one
    std::memcpy(given[thread % 32], a, sizeof a);
    emulated::warps[size_t(thread / 32)].wait();
    LateProduct made{c, kColumns, {}, b, adds};
    for (int i = 0; i < 2; ++i)
      for (int k = 0; k < 8; ++k)
        made.rows[size_t(i)][size_t(k)] =
            double(std::bit_cast<float>(given[g * 4 + k % 4][i + k / 4 * 2] & 0xffffe000u));
    late_products[thread].begun.push_back(made);
  }
};
inline void wide_begins() {}
inline void wide_begun() {
  LateProducts& own = late_products[emulated::thread()];
  own.groups.push_back(std::move(own.begun));
  own.begun.clear();
}
template <int kLast, int N>
void wide_done_but(float (&)[N][4]) {
  LateProducts& own = late_products[emulated::thread()];
  for (; own.groups.size() > kLast; own.groups.pop_front())
    for (const LateProduct& product : own.groups.front()) product.finish();
}
template <int>
void takes_registers() {}
template <int>
void gives_registers() {}
template <int kNumber, int kThreads>
void barrier_of() {
  static emulated::Barrier barrier{kThreads};
  barrier.wait();
}
inline void stays_here(float&) {}
inline void wide_operands_written() {}

}  // namespace mt::cuda
