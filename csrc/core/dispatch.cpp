#include "core/dispatch.h"

#include "core/host_lock.h"
#include "core/warn.h"

namespace mt {

void (*g_warn)(const std::string& text) = nullptr;
namespace {
DeviceHooks g_hooks[kDeviceTypes];
}

HostLock g_host_lock;

void register_device_hooks(DeviceType type, DeviceHooks hooks) { g_hooks[int(type)] = hooks; }
const DeviceHooks& device_hooks(DeviceType type) { return g_hooks[int(type)]; }

Device resolve_device(Device device) {
  if (device.type == DeviceType::npu) {
    const DeviceHooks& hooks = g_hooks[int(device.type)];
    MT_CHECK(hooks.resolve, "device '", to_string(device), "': the NPU backend is not part of this build");
    return hooks.resolve(device);
  }
  MT_CHECK(device.index <= 0, "invalid device ordinal ", int(device.index), " for device type ",
           name_of(device.type));
  return {device.type, int8_t(-1)};
}

void copy_between(const Tensor& from, const Tensor& to, bool non_blocking) {
  if (from.device().is_meta() || to.device().is_meta()) {
    MT_CHECK_AS(not_implemented, to.device().is_meta(), "Cannot copy out of meta tensor; no data!");
    return;
  }
  const DeviceType other = to.device().is_cpu() ? from.device().type : to.device().type;
  const DeviceHooks& hooks = g_hooks[int(other)];
  MT_CHECK(hooks.copy, "no copy from ", to_string(from.device()), " to ", to_string(to.device()));
  hooks.copy(from, to, non_blocking);
}

Scalar item(const Tensor& tensor) {
  MT_CHECK(tensor.numel() == 1, "a Tensor with ", tensor.numel(), " elements cannot be converted to Scalar");
  MT_CHECK(!tensor.device().is_meta(), "Tensor.item() cannot be called on meta tensors");
  if (tensor.device().is_cpu()) return read_scalar(tensor.data(), tensor.dtype());
  return g_hooks[int(tensor.device().type)].item(tensor);
}

}  // namespace mt
