// The host's clock, as traces have it.
#pragma once

#include <chrono>
#include <cstdint>

namespace mt::profiler {

inline int64_t now_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace mt::profiler
