// What the observer is told about work handed to a device.
#pragma once

#include "core/observe.h"

namespace mt {

// A call that hands work to a device, or waits for it.
enum class TaskKind : uint8_t {
  kernel,
  copy,
  fill,
  stream_wait,  // the stream waits for an event
  record_event,
  // The host waits, or the call does the work itself.
  host_copy,
  stream_sync,
  event_sync,
  device_sync,
};
struct TaskInfo {
  TaskKind kind;
  const char* call;  // the vendor's function
  const char* name;  // of what the device does: the operator, or "Memcpy HtoD (Pinned -> Device)"
  Device device;
  void* stream = nullptr;  // null for those without one
  void* event = nullptr;   // of record_event, stream_wait and event_sync
  int64_t bytes = 0;
  bool one_kernel = false;  // the call launches the kernel that is called `name`, and nothing else
};

class TaskScope {
 public:
  explicit TaskScope(const TaskInfo& task) : observer_(observer()) {
    if (observer_) [[unlikely]]
      start(task);
  }
  ~TaskScope() {
    if (observer_) [[unlikely]]
      observer_->end_task();
  }
  TaskScope(const TaskScope&) = delete;

 private:
  void start(const TaskInfo& task);
  Observer* observer_;
};

}  // namespace mt
