// A lock for sections of a few dozen instructions: half the price of a mutex when nobody else wants it.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace mt::runtime {

class SpinLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) {
      // Wait on a plain load, so that the cache line stays shared; then let the holder run, which may have
      // been descheduled.
      for (int spins = 0; held_.load(std::memory_order_relaxed); ++spins)
        if (spins > 100) std::this_thread::yield();
    }
  }
  bool try_lock() { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

using SpinGuard = std::lock_guard<SpinLock>;

}  // namespace mt::runtime
