// Sleeping on a 32-bit word, with a time limit (std::atomic::wait has none), and a short spin before it.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace softnpu {

inline constexpr int64_t kForever = -1;

// Who may sleep on a word: threads of this process, or of all that map the same memory.
enum FutexScope { kBetweenThreads = FUTEX_PRIVATE_FLAG, kBetweenProcesses = 0 };

// Returns when woken, when the word no longer holds `expected`, after `timeout_ns`, or for no reason at all.
inline void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, int64_t timeout_ns = kForever,
                       FutexScope scope = kBetweenThreads) {
  timespec limit{time_t(timeout_ns / 1000000000), long(timeout_ns % 1000000000)};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT | scope, expected,
          timeout_ns < 0 ? nullptr : &limit, nullptr, 0);
}

inline void futex_wake_all(std::atomic<uint32_t>& word, FutexScope scope = kBetweenThreads) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE | scope, INT_MAX, nullptr, nullptr, 0);
}

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Spins until `ready()` holds, for about `limit_ns`; says whether it does.
template <class Ready>
bool spin_until(const Ready& ready, int64_t limit_ns) {
  if (ready()) return true;
  const int64_t end = now_ns() + limit_ns;
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      cpu_relax();
    }
  } while (now_ns() < end);
  return false;
}

}  // namespace softnpu
