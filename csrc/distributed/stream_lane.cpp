#include "distributed/stream_lane.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"

namespace mt::distributed {
namespace {

// Streams of lanes that are gone. Streams are made for the life of the process.
struct FreeStreams {
  std::mutex mutex;
  std::map<std::pair<int, int>, std::vector<void*>> by_device;
};
FreeStreams& free_streams() {
  static auto* instance = new FreeStreams;
  return *instance;
}

void* take_stream(Accelerator& accelerator, Device device) {
  {
    FreeStreams& unused = free_streams();
    std::lock_guard guard(unused.mutex);
    std::vector<void*>& there = unused.by_device[{int(device.type), device.index}];
    if (!there.empty()) {
      void* stream = there.back();
      there.pop_back();
      return stream;
    }
  }
  return accelerator.new_stream(device.index);
}

// Their memory is given to nobody else before what is now on the stream is done.
void note_use(Accelerator& accelerator, Device device, TensorList tensors, void* stream) {
  for (const Tensor& tensor : tensors)
    if (tensor.defined() && tensor.device() == device && tensor.storage().nbytes)
      accelerator.record_stream(tensor.storage(), stream);
}

class CurrentStream {
 public:
  CurrentStream(Device device, void* stream) : device_(device), previous_(current_stream(device)) {
    set_current_stream(device, stream);
  }
  ~CurrentStream() { set_current_stream(device_, previous_); }
  CurrentStream(const CurrentStream&) = delete;

 private:
  Device device_;
  void* previous_;
};

}  // namespace

LaneMark::LaneMark(Device device, void* stream)
    : accelerator_(accelerator(device.type)),
      device_(device),
      event_(accelerator_.create_event(device.index, {})) {
  try {
    accelerator_.record_event(event_, device.index, stream);
  } catch (const Error&) {
    accelerator_.destroy_event(event_);
    throw;
  }
}

LaneMark::~LaneMark() { accelerator_.destroy_event(event_); }

void LaneMark::wait(void* stream) const { accelerator_.make_stream_wait(device_.index, stream, event_); }
void LaneMark::wait(TensorList tensors) const {
  void* stream = current_stream(device_);
  wait(stream);
  note_use(accelerator_, device_, tensors, stream);
}
bool LaneMark::is_complete() const { return accelerator_.event_is_complete(event_); }
void LaneMark::synchronize() const { accelerator_.synchronize_event(event_); }

StreamLane::StreamLane(Device device)
    : accelerator_(accelerator(device.type)),
      device_(accelerator_.resolve(device)),
      stream_(take_stream(accelerator_, device_)) {}

StreamLane::~StreamLane() {
  FreeStreams& unused = free_streams();
  std::lock_guard guard(unused.mutex);
  unused.by_device[{int(device_.type), device_.index}].push_back(stream_);
}

std::unique_ptr<LaneMark> StreamLane::run(TensorList tensors, const std::function<void()>& enqueue,
                                          const LaneMark* after) {
  if (after) after->wait(stream_);
  else accelerator_.wait(device_.index, stream_, current_stream(device_));
  // Before the work: if it fails half-way, some of it may be under way.
  note_use(accelerator_, device_, tensors, stream_);
  const CurrentStream here(device_, stream_);
  enqueue();
  return std::make_unique<LaneMark>(device_, stream_);
}

void StreamLane::synchronize() const { accelerator_.synchronize_stream(device_.index, stream_); }

}  // namespace mt::distributed
