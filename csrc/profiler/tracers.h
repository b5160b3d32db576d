// The vendors' own accounts of what their devices did (core/task_tracer.h), while a session runs.
//
// Note [Traced devices]
// Where a vendor's library tells a running program when each kernel began and ended, that is better than events around
// launches (Note [Device times] in device_times.h): one launch may be several kernels, each with its own name, and what is
// enqueued is what the program enqueues, nothing more. Such a library is started with the session, or, while the vendor's
// devices are not in use, by the first launch: a program without a GPU's work does not start the driver because
// somebody profiles. What is launched gets the number of the call (its correlation) from push to pop, and when the session
// ends the devices' work takes the place of its launch among the tasks. Where the library is missing, a warning says so
// once, and events measure.
#pragma once

#include <array>
#include <atomic>

#include "core/task_tracer.h"
#include "profiler/device_times.h"

namespace mt::profiler {

class Tracers {
 public:
  void start();
  void collect(bool enable);
  // The one that traces devices of this type; null where none does.
  TaskTracer* of(DeviceType type) {
    Slot& slot = slots_[size_t(type)];
    const State state = slot.state.load(std::memory_order_acquire);
    if (state == State::on) [[likely]]
      return slot.tracer;
    return state == State::untried ? begin(slot) : nullptr;
  }
  // Puts what the devices did in the place of the launches, and ends the tracing. What the tasks' texts lie in is added to
  // `kept`, and what went wrong to `problems`.
  void finish(std::vector<Task>& tasks, int64_t session_start_ns,
              std::vector<std::shared_ptr<const void>>& kept, std::vector<std::string>& problems);
  void forget();  // after a fork, in the child

 private:
  enum class State : uint8_t { off, untried, starting, on };
  struct Slot {
    TaskTracer* tracer = nullptr;
    std::atomic<State> state{State::off};
  };
  TaskTracer* begin(Slot& slot);

  std::array<Slot, kDeviceTypes> slots_;
};

}  // namespace mt::profiler
