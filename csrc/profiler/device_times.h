// When each task of a device began and ended, on the host's clock.
//
// Note [Device times]
// A timing event is recorded on the stream before and after each task. Events are the one facility that every driver
// offers to a running program, that costs the stream next to nothing, and that knows streams: vendors' profilers write
// files for another tool to read after the program, and a host callback would make the stream wait for the host at
// every task.
//
// The host never waits for an event while it records: reached ones are read and reused in passing, the rest at the stop.
//
// The device has a clock of its own. An event on an idle stream, recorded and awaited between two looks at the host's
// clock, says what time it is there; that is done at the first task of a session and at its end, and the two give offset
// and drift. Times along a stream are chained (from the end of a task to the beginning of the next), because elapsed
// times are floats, exact only when short; over longer gaps the device's own microseconds count.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/accelerator.h"
#include "core/observe_task.h"

namespace mt::profiler {

// Something that a device did, or a wait of the host for it.
struct Task {
  TaskKind kind;
  const char* call;  // static
  const char* name;  // static
  Device device;
  StreamHandle stream;  // 0: none
  int64_t bytes;
  int64_t correlation;       // of the call that launched it
  int64_t awaited;           // correlation of the recording that it waits for; -1: none
  int32_t thread;            // number of the launching thread; -1: launched by others
  int32_t op;                // index of the operator around the call, among the thread's events; -1: none
  bool one_kernel = false;   // it is the kernel that was launched under this name
  bool traced = false;       // the vendor says what became of it (Note [Traced devices] in tracers.h)
  const char* details = "";  // of what the device did: members of a JSON object
  int64_t launch_ns = 0;     // steady clock, as all times
  int64_t start_ns = 0;      // both 0: the device could not say
  int64_t end_ns = 0;
};

class DeviceTimes {
 public:
  struct Events {
    EventHandle begin = 0, end = 0;
  };

  // Around a task on a stream. Without events the task's times stay unknown.
  Events begin(const TaskInfo& task);
  void end(const Task& task, Events events);
  void give_back(Device device, Events events);
  // For what needs no measuring: its times are the host's.
  void add(const Task& task);

  // Waits for the tasks that are not done and hands over all of the session.
  std::vector<Task> finish();

 private:
  struct Pending {
    size_t task;
    Events events;
  };
  struct StreamState {
    std::deque<Pending> pending;
    EventHandle last_end = 0;
    int64_t last_end_ns = 0;
  };
  struct ByPlace {
    bool operator()(Device a, Device b) const {
      return std::pair(a.type, a.index) < std::pair(b.type, b.index);
    }
  };
  struct Anchor {
    EventHandle event = 0;
    int64_t host_ns = 0;
  };
  struct DeviceState {
    void* clock_stream = nullptr;
    Anchor anchor;
    std::vector<EventHandle> spare;
    std::map<StreamHandle, StreamState> streams;
  };

  static constexpr size_t kMostPending = 8192;  // tasks of a stream; more go unmeasured

  EventHandle take(Device device, DeviceState& state);
  Anchor look_at_clock(Device device, DeviceState& state);
  int64_t elapsed_ns(Accelerator& there, EventHandle begin, EventHandle end);
  void resolve(Accelerator& there, DeviceState& state, StreamState& stream);
  void read_reached(Accelerator& there, DeviceState& state, StreamState& stream);
  void correct_drift(Device device, DeviceState& state);

  std::mutex mutex_;  // all below
  std::map<Device, DeviceState, ByPlace> devices_;
  std::vector<Task> tasks_;
};

}  // namespace mt::profiler
