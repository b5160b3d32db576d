// What the memory pools need from below, over any driver. None of it needs Python.
#pragma once

#include "devices/stream_accelerator.h"
#include "runtime/upstream.h"

namespace mt::devices {

using runtime::Mapping;
using runtime::RawMemory;

// Makes a device active for a scope. The caller is about to launch on the one that was, so that one comes back.
class ActiveDevice {
 public:
  ActiveDevice(StreamAccelerator& accelerator, int device)
      : accelerator_(accelerator), before_(accelerator.active_device()) {
    accelerator.activate(device);
  }
  ~ActiveDevice();
  ActiveDevice(const ActiveDevice&) = delete;

 private:
  StreamAccelerator& accelerator_;
  const int before_;
};

// Events and streams are the same for the memory of a device and for pinned memory.
class StreamUpstream : public Upstream {
 public:
  explicit StreamUpstream(StreamAccelerator& accelerator) : accelerator_(accelerator) {}

  EventHandle record_event(StreamHandle stream) override;
  bool event_is_complete(EventHandle event) override;
  void release_event(EventHandle event) noexcept override;
  // Gives up Python's lock while it waits: the thread whose turn it is may need it.
  void wait_for_turn(std::recursive_mutex& turn) override;

 protected:
  virtual int device_of(StreamHandle stream) = 0;
  StreamAccelerator& accelerator_;
};

class DriverUpstream final : public StreamUpstream {
 public:
  DriverUpstream(StreamAccelerator& accelerator, int device) : StreamUpstream(accelerator), device_(device) {}

  RawMemory allocate(size_t bytes) override;
  void free(Address address) override;
  MemoryInfo memory_info() override;
  void synchronize() override;
  bool has_virtual_memory() override;
  Address reserve(size_t bytes) override;
  void unreserve(Address address) override;
  Mapping map(Address address, size_t bytes) override;
  void unmap(Address address, MappingHandle memory) override;

 protected:
  int device_of(StreamHandle stream) override;

 private:
  const int device_;
};

// Any device may copy from pinned memory.
class PinnedUpstream final : public StreamUpstream {
 public:
  using StreamUpstream::StreamUpstream;

  RawMemory allocate(size_t bytes) override;
  void free(Address address) override;
  MemoryInfo memory_info() override { return {}; }
  void synchronize() override;

 protected:
  int device_of(StreamHandle stream) override;

 private:
  int some_device();
};

}  // namespace mt::devices
