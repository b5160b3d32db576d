// Long host work lets other Python threads run; short work keeps the lock, because giving it up and taking it
// back costs more than a small operator. The bindings install the two functions; core knows no Python.
#pragma once

#include <cstdint>

namespace mt {

struct HostLock {
  void* (*release)() = nullptr;  // null result: the lock was not held
  void (*reacquire)(void*) = nullptr;
};
extern HostLock g_host_lock;
inline constexpr int64_t kLongWork = 1 << 16;  // elements

class HostWork {
 public:
  explicit HostWork(int64_t elements) {
    if (elements >= kLongWork && g_host_lock.release) [[unlikely]]
      held_ = g_host_lock.release();
  }
  ~HostWork() {
    if (held_) g_host_lock.reacquire(held_);
  }
  HostWork(const HostWork&) = delete;

 private:
  void* held_ = nullptr;
};

}  // namespace mt
