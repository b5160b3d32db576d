#include "core/current_stream.h"

#include "base/per_thread.h"
#include "core/accelerator.h"

namespace mt {

std::array<std::atomic<void*>, kMaxDevices> g_default_streams[kDeviceTypes]{};

namespace {

// Current streams of the devices that are not current on this thread.
using Aside = std::array<std::array<void*, kMaxDevices>, kDeviceTypes>;
constinit PerThread<Aside> t_aside;

void*& aside(Device device) { return (*t_aside)[size_t(device.type)][size_t(device.index)]; }

}  // namespace

void* current_stream_slowly(Device device) {
  void* standard = accelerator(device.type).default_stream(device.index);
  if (device.index != thread_state().current[int(device.type)].index)
    if (void* stream = aside(device)) return stream;
  return standard;
}

void set_current_stream(Device device, void* stream) {
  if (stream == opened_default_stream(device)) stream = nullptr;
  CurrentDevice& now = thread_state().current[int(device.type)];
  (device.index == now.index ? now.stream : aside(device)) = stream;
}

void set_current_device(Device device) {
  CurrentDevice& now = thread_state().current[int(device.type)];
  if (device.index == now.index) return;
  aside({device.type, int8_t(now.index)}) = now.stream;
  now.stream = aside(device);
  now.index = device.index;
}

}  // namespace mt
