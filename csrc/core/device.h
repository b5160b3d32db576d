// Where a tensor lives: a device type and an index.
#pragma once

#include <cstdint>
#include <string>

namespace mt {

enum class DeviceType : uint8_t { cpu, npu, meta, count_ };
inline constexpr int kDeviceTypes = int(DeviceType::count_);

struct Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = -1;  // -1: the current one (or the only one)

  bool operator==(const Device&) const = default;
  bool is_cpu() const { return type == DeviceType::cpu; }
  bool is_meta() const { return type == DeviceType::meta; }
  bool is_npu() const { return type == DeviceType::npu; }
};

const char* name_of(DeviceType type);
std::string to_string(Device device);          // "npu:0", "cpu"
Device parse_device(const std::string& text);  // throws PyTorch's RuntimeError for bad text

}  // namespace mt
