#include "core/accelerator.h"

#include "base/error.h"

namespace mt {
namespace {

Backend* g_backends[kDeviceTypes] = {};
Accelerator* g_accelerators[kDeviceTypes] = {};

[[noreturn, gnu::cold]] void fail_without_backend(DeviceType type) {
  fail(ErrorKind::runtime, "device type '", name_of(type),
       "': no backend for it is part of this build (docs/adding_a_device.md says how one is added)");
}

}  // namespace

void register_backend(DeviceType type, Backend& backend) {
  MT_CHECK(!g_backends[int(type)], "two backends want the slot of '", name_of(type), "'");
  g_backends[int(type)] = &backend;
}

void register_accelerator(DeviceType slot, const char* name, Accelerator& accelerator) {
  MT_CHECK(is_accelerator(slot), "'", name, "' wants a slot that is not an accelerator's");
  register_backend(slot, accelerator);
  g_accelerators[int(slot)] = &accelerator;
  set_device_name(slot, name);
}

Backend* find_backend(DeviceType type) noexcept {
  return int(type) < kDeviceTypes ? g_backends[int(type)] : nullptr;
}

Backend& backend(DeviceType type) {
  Backend* found = find_backend(type);
  if (!found) [[unlikely]]
    fail_without_backend(type);
  return *found;
}

Accelerator* find_accelerator(DeviceType type) noexcept {
  return int(type) < kDeviceTypes ? g_accelerators[int(type)] : nullptr;
}

Accelerator& accelerator(DeviceType type) {
  Accelerator* found = find_accelerator(type);
  if (!found) [[unlikely]]
    fail_without_backend(type);
  return *found;
}

DeviceType main_accelerator() {
  for (int slot = 0; slot < kDeviceTypes; ++slot)
    if (g_accelerators[slot]) return DeviceType(slot);
  return DeviceType::accelerator;
}

}  // namespace mt
