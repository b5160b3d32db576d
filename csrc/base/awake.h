// Waiting without going to sleep.
#pragma once

#include <chrono>

namespace mt {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns whether the condition came true in that time.
template <class Condition>
bool look_out_for(std::chrono::steady_clock::duration time, Condition condition) {
  const auto until = std::chrono::steady_clock::now() + time;
  do {
    for (int i = 0; i < 32; ++i) {
      if (condition()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < until);
  return false;
}

}  // namespace mt
