// What each thread has of its own, behind one pointer.
#pragma once

#include <atomic>

namespace mt {

// Note [Thread-locals]
// A library that is loaded into a running program finds little room for quick thread-locals (initial-exec: an address
// relative to the thread's register): about 1,700 bytes, which PyTorch, OpenMP, scikit-learn and others want as well, and
// one such variable puts all thread-locals of its library there. Ordinary ones need no room, but each reading is a call.
// So this library has two quick thread-locals, both pointers: t_values below and the thread's state (core/thread_state.h).
// What else a thread has of its own is a PerThread, which is as quick and takes nothing from that room.
//
//   PerThread<ThreadBuffer> packed;   // at namespace scope, or static in a function
//   packed->room<float>(n);           // made at its first use on a thread, destroyed when the thread ends
//
// What is used again while the thread ends is made again. The main thread's stay until the process is gone.
namespace per_thread {

inline constexpr int kMost = 32;  // variables in one library; more refuse to be made

struct Type {
  void* (*make)();
  void (*destroy)(void*);
};

// The values of this thread by number, null where there is none yet. Number 0 is nobody's.
extern constinit thread_local void** t_values __attribute__((tls_model("initial-exec")));
// Gives the variable its number if it has none, and this thread its value.
void* make(std::atomic<int>& number, Type type);

}  // namespace per_thread

template <class T>
class PerThread {
 public:
  constexpr PerThread() = default;
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  T& operator*() {
    if (void** values = per_thread::t_values) [[likely]]
      if (void* value = values[number_.load(std::memory_order_relaxed)]) [[likely]]
        return *static_cast<T*>(value);
    return *static_cast<T*>(per_thread::make(
        number_, {[]() -> void* { return new T(); }, [](void* value) { delete static_cast<T*>(value); }}));
  }
  T* operator->() { return &**this; }

 private:
  std::atomic<int> number_{0};
};

}  // namespace mt
