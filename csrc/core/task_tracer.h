// A vendor's own account of what its devices did, for those that give one to a running program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/device_handles.h"
#include "core/observe_task.h"

namespace mt {

struct TracedTask {
  TaskKind kind;         // kernel, copy, fill or stream_wait
  int64_t launch;        // what enter() was given; 0: somebody else's launch
  const char* name;      // of the kernel itself, or of the copy; in Traced::texts, as what follows
  const char* details;   // members of a JSON object
  Device device;         // without meaning for waits
  StreamHandle stream;   // a small number for one that nobody here knows
  int64_t bytes;         // of copies and fills
  int64_t start_ns = 0;  // steady clock
  int64_t end_ns = 0;
};

struct Traced {
  std::vector<TracedTask> tasks;
  std::shared_ptr<const void> texts;
  std::string problem;  // what is missing, and what helps; empty for none
};

class TaskTracer {
 public:
  virtual ~TaskTracer() = default;
  virtual bool in_use() const = 0;  // the vendor's library is started already
  // Empty: from now on it traces. Else why it cannot, and what helps.
  virtual std::string start() = 0;
  virtual void collect(bool enable) = 0;  // for a while it is not wanted
  // Around a call that hands work to a device: what the calling thread launches in between has this number.
  virtual void enter(int64_t launch, const TaskInfo& task) = 0;
  virtual void leave() noexcept = 0;
  // Waits for the work that was launched in between, and hands it over.
  virtual Traced stop() = 0;
};

void set_task_tracer(DeviceType slot, TaskTracer* tracer);  // lives for ever
TaskTracer* find_task_tracer(DeviceType slot);              // null: there is none

}  // namespace mt
