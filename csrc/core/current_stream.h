// The stream that work of this thread goes to.
#pragma once

#include <array>
#include <atomic>

#include "base/device_handles.h"
#include "core/host_memory.h"  // before thread_state.h, which it completes
#include "core/thread_state.h"

namespace mt {

// Handles of the default streams, by type and index; null for a device that has not been opened.
extern std::array<std::atomic<void*>, kMaxDevices> g_default_streams[kDeviceTypes];

inline void* opened_default_stream(Device device) {
  return g_default_streams[int(device.type)][size_t(device.index)].load(std::memory_order_acquire);
}

void* current_stream_slowly(Device device);

// The handle of this thread's current stream on the accelerator, which is opened if need be.
inline void* current_stream(Device device) {
  const CurrentDevice& now = thread_state().current[int(device.type)];
  if (device.index == now.index) [[likely]] {
    if (now.stream) return now.stream;
    if (void* stream = opened_default_stream(device)) [[likely]]
      return stream;
  }
  return current_stream_slowly(device);
}

void set_current_stream(Device device, void* stream);  // null: the default stream
// Each device has a current stream of its own; the one of the device that was current is put aside.
void set_current_device(Device device);

}  // namespace mt
