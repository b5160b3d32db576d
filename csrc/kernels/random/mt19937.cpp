#include "kernels/random/mt19937.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/error.h"

namespace mt::kernels {
namespace {

// The bytes of torch.get_rng_state(), little-endian, with C's padding.
struct StateLayout {
  uint64_t seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[624];
  double normal_x, normal_y, normal_rho;
  int32_t normal_is_valid;
  int32_t padding;
  float float_normal;
  uint8_t float_normal_is_valid;
  uint8_t padding_end[3];
};
static_assert(sizeof(StateLayout) == Mt19937::kStateBytes);

}  // namespace

void Mt19937::seed(uint64_t seed) {
  seed_ = seed;
  state_[0] = uint32_t(seed);
  for (int i = 1; i < kWords; ++i)
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + uint32_t(i);
  left_ = 1;
  next_ = 0;
  waiting_normal_.reset();
  waiting_normal_float_.reset();
}

void Mt19937::refill() {
  const auto twist = [](uint32_t u, uint32_t v) {
    return (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ ((0u - (v & 1u)) & 0x9908b0dfu);
  };
  int i = 0;
  for (; i < kWords - kShift; ++i) state_[i] = state_[i + kShift] ^ twist(state_[i], state_[i + 1]);
  for (; i < kWords - 1; ++i) state_[i] = state_[i + kShift - kWords] ^ twist(state_[i], state_[i + 1]);
  state_[i] = state_[i + kShift - kWords] ^ twist(state_[i], state_[0]);
  left_ = kWords;
  next_ = 0;
}

void Mt19937::random32(uint32_t* out, int64_t n) {
  while (n > 0) {
    if (left_ == 1) {
      refill();
      ++left_;  // refill counts the number that random32() is about to take
    }
    const int64_t count = std::min<int64_t>(n, left_ - 1);
    for (int64_t i = 0; i < count; ++i) out[i] = temper(state_[next_ + uint32_t(i)]);
    out += count;
    n -= count;
    left_ -= int(count);
    next_ += uint32_t(count);
  }
}

double Mt19937::normal_double() {
  if (waiting_normal_) {
    const double value = *waiting_normal_;
    waiting_normal_.reset();
    return value;
  }
  const double u1 = uniform_double(), u2 = uniform_double();
  const double radius = std::sqrt(-2.0 * std::log1p(-u2)), angle = 2.0 * std::numbers::pi * u1;
  waiting_normal_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void Mt19937::get_state(uint8_t* bytes) const {
  StateLayout s;
  std::memset(&s, 0, sizeof(s));
  s.seed = seed_;
  s.left = left_;
  s.seeded = 1;
  s.next = next_;
  for (int i = 0; i < kWords; ++i) s.words[i] = state_[i];
  if (waiting_normal_) s.normal_y = *waiting_normal_, s.normal_is_valid = 1;
  if (waiting_normal_float_) s.float_normal = *waiting_normal_float_, s.float_normal_is_valid = 1;
  std::memcpy(bytes, &s, sizeof(s));
}

void Mt19937::set_state(const uint8_t* bytes, size_t count) {
  MT_CHECK(count == kStateBytes, "RNG state is wrong size: expected ", kStateBytes, " bytes, got ", count);
  StateLayout s;
  std::memcpy(&s, bytes, sizeof(s));
  // `left` counts down while `next` counts up: any other pair would read outside the words.
  const bool fresh = s.left == 1 && s.next <= uint64_t(kWords);
  const bool running = s.left >= 1 && s.left <= kWords && s.next == uint64_t(kWords + 1 - s.left);
  MT_CHECK(s.seeded == 1 && (fresh || running), "Invalid mt19937 state: seeded ", s.seeded, ", left ", s.left,
           ", next ", s.next, "; pass what get_rng_state() returned");
  seed_ = s.seed;
  left_ = s.left;
  next_ = uint32_t(s.next);
  for (int i = 0; i < kWords; ++i) state_[i] = uint32_t(s.words[i]);
  waiting_normal_.reset();
  waiting_normal_float_.reset();
  if (s.normal_is_valid) waiting_normal_ = s.normal_y;
  if (s.float_normal_is_valid) waiting_normal_float_ = s.float_normal;
}

}  // namespace mt::kernels
