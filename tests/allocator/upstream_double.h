// The device of these tests.
#pragma once

#include "runtime/caching_allocator.h"
#include "runtime/simulated_device.h"

// What messages of its allocators say.
inline const mt::runtime::AllocatorIdentity kIdentity{"Double", 0, "DOUBLE_ALLOC_CONF", "doublemalloc"};

class UpstreamDouble : public mt::runtime::SimulatedDevice {
 public:
  using Address = mt::runtime::Address;
  using StreamHandle = mt::runtime::StreamHandle;
  using EventHandle = mt::runtime::EventHandle;
  using SimulatedDevice::SimulatedDevice;
};
