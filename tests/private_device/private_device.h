// The device as the framework sees it: an accelerator in the slot for private use, with a kernel for every operator.
#pragma once

#include "devices/stream_accelerator.h"
#include "host_driver.h"

namespace mt::private_device {

inline constexpr DeviceType kSlot = DeviceType::private_use;

class PrivateAccelerator final : public devices::StreamAccelerator {
 public:
  PrivateAccelerator() : StreamAccelerator(kSlot, private_device::driver()) {}

  const char* title() const override { return "Private device"; }
  const char* conf_variable() const override { return "PRIVATE_ALLOC_CONF"; }
  const char* malloc_name() const override { return "hostmalloc"; }
  DeviceProperties properties(int device) override;
  void copy_on_device(const Tensor& from, const Tensor& to) override;
};

PrivateAccelerator& device();
void register_private_device();  // kernels and accelerator; starts nothing

}  // namespace mt::private_device
