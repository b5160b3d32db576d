#include "devices/driver_upstream.h"

#include "base/error.h"
#include "core/host_lock.h"

namespace mt::devices {

ActiveDevice::~ActiveDevice() {
  if (before_ < 0 || before_ == accelerator_.active_device()) return;
  try {
    accelerator_.activate(before_);
  } catch (const Error&) {
    accelerator_.forget_active_device();  // whoever launches next activates its device, and hears of it
  }
}

EventHandle StreamUpstream::record_event(StreamHandle stream) {
  const int device = device_of(stream);
  const ActiveDevice here(accelerator_, device);
  const EventHandle event = accelerator_.create_event(device, {});
  try {
    accelerator_.record_event(event, device, reinterpret_cast<void*>(stream));
  } catch (const Error&) {
    accelerator_.destroy_event(event);
    throw;
  }
  return event;
}

bool StreamUpstream::event_is_complete(EventHandle event) {
  const ActiveDevice here(accelerator_, accelerator_.device_of_event(event));
  return accelerator_.event_is_complete(event);
}

void StreamUpstream::release_event(EventHandle event) noexcept { accelerator_.destroy_event(event); }

void StreamUpstream::wait_for_turn(std::recursive_mutex& turn) {
  if (turn.try_lock()) return;
  const HostWork without_lock(kLongWork);
  turn.lock();
}

// ---- a device's memory ----

int DriverUpstream::device_of(StreamHandle stream) {
  return stream ? accelerator_.device_of_stream(reinterpret_cast<void*>(stream)) : device_;
}

RawMemory DriverUpstream::allocate(size_t bytes) {
  const ActiveDevice here(accelerator_, device_);
  return accelerator_.driver().allocate(bytes);
}

void DriverUpstream::free(Address address) {
  const ActiveDevice here(accelerator_, device_);
  accelerator_.driver().free(address);
}

MemoryInfo DriverUpstream::memory_info() {
  const ActiveDevice here(accelerator_, device_);
  return accelerator_.driver().memory_info();
}

void DriverUpstream::synchronize() {
  const ActiveDevice here(accelerator_, device_);
  accelerator_.synchronize(device_);
}

bool DriverUpstream::has_virtual_memory() {
  accelerator_.initialize();
  return accelerator_.driver().has_virtual_memory();
}

Address DriverUpstream::reserve(size_t bytes) {
  const ActiveDevice here(accelerator_, device_);
  return accelerator_.driver().reserve(bytes);
}

void DriverUpstream::unreserve(Address address) {
  const ActiveDevice here(accelerator_, device_);
  accelerator_.driver().unreserve(address);
}

Mapping DriverUpstream::map(Address address, size_t bytes) {
  const ActiveDevice here(accelerator_, device_);
  return accelerator_.driver().map(device_, address, bytes);
}

void DriverUpstream::unmap(Address address, MappingHandle memory) {
  const ActiveDevice here(accelerator_, device_);
  accelerator_.driver().unmap(address, memory);
}

// ---- pinned memory ----

int PinnedUpstream::some_device() {
  const int active = accelerator_.active_device();
  return active >= 0 ? active : accelerator_.current_device();
}

int PinnedUpstream::device_of(StreamHandle stream) {
  return stream ? accelerator_.device_of_stream(reinterpret_cast<void*>(stream)) : some_device();
}

RawMemory PinnedUpstream::allocate(size_t bytes) {
  const ActiveDevice here(accelerator_, some_device());
  return accelerator_.driver().allocate_pinned(bytes);
}

void PinnedUpstream::free(Address address) {
  const ActiveDevice here(accelerator_, some_device());
  accelerator_.driver().free_pinned(address);
}

void PinnedUpstream::synchronize() {
  const ActiveDevice here(accelerator_, some_device());
  for (int device = 0; device < kMaxDevices; ++device)
    if (accelerator_.is_open(device)) accelerator_.synchronize(device);
}

}  // namespace mt::devices
