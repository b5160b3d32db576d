// Vector clocks: for each lane (the host, or one stream) how many of its operations came before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace softnpu::sanitizer {

using LaneIndex = uint32_t;
inline constexpr LaneIndex kHostLane = 0;

class VectorClock {
 public:
  uint64_t at(LaneIndex lane) const { return lane < ticks_.size() ? ticks_[lane] : 0; }
  void set(LaneIndex lane, uint64_t tick) {
    if (lane >= ticks_.size()) ticks_.resize(lane + 1);
    ticks_[lane] = tick;
  }
  void join(const VectorClock& other) {
    if (other.ticks_.size() > ticks_.size()) ticks_.resize(other.ticks_.size());
    for (size_t i = 0; i < other.ticks_.size(); ++i) ticks_[i] = std::max(ticks_[i], other.ticks_[i]);
  }

 private:
  std::vector<uint64_t> ticks_;
};

// A point that work has reached, kept by whoever may wait for it. Empty while the sanitizer is off.
using Stamp = std::shared_ptr<const VectorClock>;

}  // namespace softnpu::sanitizer
