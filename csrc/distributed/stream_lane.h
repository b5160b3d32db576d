// Where a group's collectives run on a device with streams: a stream of their own, beside the program's.
//
// Note [Stream lanes]
// A lane's work begins behind what the program has enqueued so far, and the program goes on at once. Who needs the result
// lets its current stream wait for the end of the work: an event, so that the host never waits. Tensors that the work
// uses are noted with the allocator, which gives their memory to nobody else before the lane is past it. What the work
// allocates itself belongs to the lane's stream.
//
// A stream is a lane's alone, because two works that wait for different processes must not wait for each other. It is
// used again once its lane is gone.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "core/accelerator.h"

namespace mt::distributed {

// The end of a work. Its event goes back when nobody asks for it any more.
class LaneMark {
 public:
  LaneMark(Device device, void* stream);  // behind what is on the stream now
  // Behind what this thread has enqueued on the device so far.
  explicit LaneMark(Device device) : LaneMark(device, current_stream(device)) {}
  ~LaneMark();
  LaneMark(const LaneMark&) = delete;

  void wait(void* stream) const;  // it does nothing more before
  // The current stream does nothing more before, and may then use the tensors, which are the work's own.
  void wait(TensorList tensors = {}) const;
  bool is_complete() const;  // throws what the device reports
  void synchronize() const;  // the host waits
  Device device() const { return device_; }

 private:
  Accelerator& accelerator_;
  Device device_;
  EventHandle event_;
};

class StreamLane {
 public:
  explicit StreamLane(Device device);
  ~StreamLane();
  StreamLane(const StreamLane&) = delete;

  Device device() const { return device_; }
  void* stream() const { return stream_; }

  // Runs a function that enqueues work, with the lane's stream as the current one. The work comes behind `after`, or
  // behind what this thread has enqueued so far.
  std::unique_ptr<LaneMark> run(TensorList tensors, const std::function<void()>& enqueue,
                                const LaneMark* after = nullptr);
  void synchronize() const;  // the host waits for everything in it

 private:
  Accelerator& accelerator_;
  Device device_;
  void* stream_;
};

}  // namespace mt::distributed
