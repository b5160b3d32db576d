// Launches that a thread of their own hands to the driver.
//
// Note [Launches by another thread]
// cuLaunchKernel takes about 3 us of the host, as long as Python takes from one operator to the next. So what is launched
// is written into a ring, some 50 ns each, and one thread for each device hands it to the driver in the order in which it
// was given: a program takes as long as the longer of the two, no longer their sum. Devices do not share a ring, because
// one of them may wait for what is launched on another (a collective of several threads).
//
// Nobody can tell but by the time. What has to come after launches settles first, that is, waits until the ring is empty:
// every other call that enqueues work or asks about it (CudaDriver, enqueue()), memory that goes back to the driver, and an
// address that is given to other code. Memory that the pools use again needs nothing: its next user is behind in the ring.
// What the driver refuses is raised by the next launch or wait, as errors of the device are.
//
// Launches are done at once, by the thread that makes them,
//   - while a profiler looks, which wants to know when each was made; while a graph is captured; with
//     CUDA_LAUNCH_BLOCKING=1, which wants errors where they are made;
//   - where the process has fewer than four processors, because the thread stays awake between launches, or with
//     MINDTORCH_CUDA_QUEUE=off (=on: however many there are);
//   - for good when other code gets the handle of a stream, on which it may enqueue what it likes;
//   - while the thread sleeps, as it does after a millisecond without work: to wake it up takes longer than a launch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "runtime/spin_lock.h"

namespace mt::cuda {

// What became of a piece of work. Only a thread that may wait for Python makes an error of it.
struct Outcome {
  int code = 0;  // 0: it worked
  const char* what = nullptr;
  void (*raise)(int code, const char* what) = nullptr;  // does not return
};

class LaunchQueue {
 public:
  // Calls work(more), now or soon, with the device active; both are copied. Throws what became of it, or of earlier work.
  template <class Work>
  void give(const Work& work, const void* more, size_t more_bytes) {
    static_assert(std::is_trivially_copyable_v<Work> && alignof(Work) <= alignof(Entry));
    if (void* room = claim(&run<Work>, kMoreBegins<Work> + more_bytes)) [[likely]] {
      new (room) Work(work);
      if (more_bytes) std::memcpy(static_cast<char*>(room) + kMoreBegins<Work>, more, more_bytes);
      return publish();
    }
    settle();
    const Outcome outcome = work(more);
    if (outcome.code != 0) [[unlikely]]
      outcome.raise(outcome.code, outcome.what);
  }

  // All that was given so far is with the driver; throws what that refused.
  void settle() {
    wait();
    if (failed_.load(std::memory_order_acquire)) [[unlikely]]
      raise_kept();
  }
  void wait() noexcept {
    if (done_.load(std::memory_order_acquire) != given_.load(std::memory_order_acquire)) wait_slowly();
  }
  // From here on, everything is done at once.
  void turn_off() noexcept;

 private:
  static constexpr size_t kBytes = size_t(2) << 20, kLine = 64;
  enum class State : uint8_t { unstarted, off, asleep, awake };
  using Run = Outcome (*)(const void* work);
  struct alignas(32) Entry {
    uint64_t bytes;  // with this; a whole number of lines
    Run run;         // null: nothing more up to the end of the ring
  };

  template <class Work>
  static constexpr size_t kMoreBegins = (sizeof(Work) + 31) / 32 * 32;
  template <class Work>
  static Outcome run(const void* work) {
    return (*static_cast<const Work*>(work))(static_cast<const char*>(work) + kMoreBegins<Work>);
  }

  // Room for a piece of work, with the lock held until publish(); null: it is to be done at once.
  void* claim(Run run, size_t bytes);
  void publish();
  bool takes_work();
  void start();
  void wake();
  void wait_slowly() noexcept;
  void wait_for_room(uint64_t until);
  void keep(const Outcome& outcome);
  void raise_kept();
  void work();
  uint64_t do_next(uint64_t at);
  bool sleep(uint64_t at);
  int device() const;
  static void forget_threads() noexcept;
  Entry& entry(uint64_t at) { return *reinterpret_cast<Entry*>(ring_.get() + at % kBytes); }

  struct Free {
    void operator()(char* memory) const { ::operator delete[](memory, std::align_val_t(kLine)); }
  };
  std::unique_ptr<char[], Free> ring_;

  // Each line has one who writes it: hardly anybody, those who give work (two lines), the thread.
  alignas(kLine) std::atomic<State> state_{State::unstarted};
  std::atomic<bool> failed_{false}, thread_lives_{false};
  std::atomic<uint32_t> wake_{0};  // what the thread sleeps on
  runtime::SpinLock failure_lock_;
  Outcome failure_;  // the first that nobody has heard of
  alignas(kLine) runtime::SpinLock lock_;
  uint64_t claimed_ = 0, room_until_ = kBytes;  // positions: bytes since the beginning
  std::atomic<int64_t> last_alone_{0};          // when a launch was done at once because the thread slept, ns
  alignas(kLine) std::atomic<uint64_t> given_{0};
  alignas(kLine) std::atomic<uint64_t> done_{0};
};

LaunchQueue& launch_queue(int device);
// Of all devices.
void wait_for_launch_queues() noexcept;
void turn_off_launch_queues() noexcept;

}  // namespace mt::cuda
