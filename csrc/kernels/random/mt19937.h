// The Mersenne Twister as PyTorch's CPU generator uses it: same seed, same numbers; states can be exchanged
// with torch.get_rng_state() and torch.set_rng_state().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace mt::kernels {

class Mt19937 {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721ull;
  static constexpr size_t kStateBytes = 5056;

  explicit Mt19937(uint64_t seed = kDefaultSeed) { this->seed(seed); }

  void seed(uint64_t seed);
  uint64_t initial_seed() const { return seed_; }

  uint32_t random32() {
    if (--left_ == 0) refill();
    return temper(state_[next_++]);
  }
  // The next n numbers at once: the same as n calls, several times faster.
  void random32(uint32_t* out, int64_t n);
  // The first draw is the high half.
  uint64_t random64() {
    const uint64_t high = random32();
    return (high << 32) | random32();
  }
  double uniform_double() { return double(random64() & ((uint64_t(1) << 53) - 1)) * 0x1p-53; }
  float uniform_float() { return float(random32() & ((1u << 24) - 1)) * 0x1p-24f; }
  // A standard normal number; they come in pairs, the second waits for the next call.
  double normal_double();

  void get_state(uint8_t* bytes) const;                // kStateBytes
  void set_state(const uint8_t* bytes, size_t count);  // checks before it changes anything

 private:
  static constexpr int kWords = 624, kShift = 397;
  void refill();
  static uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }

  uint64_t seed_;
  int left_;
  uint32_t next_;
  uint32_t state_[kWords];
  std::optional<double> waiting_normal_;
  std::optional<float> waiting_normal_float_;  // only carried in states; the CPU generator never draws it
};

}  // namespace mt::kernels
