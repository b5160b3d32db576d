// Where a tensor lives: a device type and an index.
#pragma once

#include <cstdint>
#include <string>

namespace mt {

// Note [Slots]
// Accelerators are slots: which device stands in one, and its name, is what a backend registers (core/accelerator.h).
// So kernels are found by an index that is known when the backend is compiled (`kSlot` in its folder), and no other
// code knows a vendor. The last slot is for a device of one's own, as PyTorch's PrivateUse1.
enum class DeviceType : uint8_t { cpu, meta, accelerator, second_accelerator, private_use, count_ };
inline constexpr int kDeviceTypes = int(DeviceType::count_);

constexpr bool is_accelerator(DeviceType type) {
  return type >= DeviceType::accelerator && type <= DeviceType::private_use;
}

struct Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = -1;  // -1: the current one (or the only one)

  bool operator==(const Device&) const = default;
  bool is_cpu() const { return type == DeviceType::cpu; }
  bool is_meta() const { return type == DeviceType::meta; }
  bool is_accelerator() const { return mt::is_accelerator(type); }
};

const char* name_of(DeviceType type);
std::string to_string(Device device);          // "cpu", or with its index
Device parse_device(const std::string& text);  // throws PyTorch's RuntimeError for bad text

// The name of what stands in a slot, as in torch.device. Names are text that lives for ever.
void set_device_name(DeviceType slot, const char* name);

}  // namespace mt
