#include "core/device.h"

#include <charconv>
#include <iterator>

#include "base/error.h"

namespace mt {
namespace {

constexpr const char* kPrivateUse = "privateuseone";

// Empty: no backend stands in the slot.
const char* g_names[kDeviceTypes] = {"cpu", "meta", "", "", kPrivateUse};

// Devices that programs may name but that nothing here drives. No tensor is ever on one.
constexpr const char* kForeign[] = {"cuda", "xpu",    "mps",    "hpu",    "xla", "mtia",
                                    "ipu",  "mkldnn", "hip",    "ideep",  "ve",  "maia",
                                    "fpga", "vulkan", "opengl", "opencl", "lazy"};
constexpr int kNames = kDeviceTypes + int(std::size(kForeign));

// Its own backend's name comes first, so that "cuda" stops being foreign when there is one.
int find_name(const std::string& type) {
  for (int i = 0; i < kNames; ++i)
    if (type == name_of(DeviceType(i))) return i;
  return type == kPrivateUse ? int(DeviceType::private_use) : kNames;  // also when it was renamed
}

std::string known_names() {
  std::string names;
  for (int i = 0; i < kNames; ++i) {
    const std::string name = name_of(DeviceType(i));
    if (name.empty() || (", " + names + ", ").find(", " + name + ", ") != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace

const char* name_of(DeviceType type) {
  return int(type) < kDeviceTypes ? g_names[int(type)] : kForeign[int(type) - kDeviceTypes];
}

void set_device_name(DeviceType slot, const char* name) { g_names[int(slot)] = name; }

std::string to_string(Device device) {
  std::string text = name_of(device.type);
  if (device.index >= 0) text += ":" + std::to_string(int(device.index));
  return text;
}

Device parse_device(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string type = text.substr(0, colon);
  MT_CHECK(!type.empty(), "Device string must not be empty");
  const int found = find_name(type);
  MT_CHECK(found < kNames, "Expected one of ", known_names(),
           " device type at start of device string: ", text);
  Device device{DeviceType(found)};
  if (colon != std::string::npos) {
    const char *first = text.data() + colon + 1, *last = text.data() + text.size();
    int index = -1;
    const auto [end, error] = std::from_chars(first, last, index);
    MT_CHECK(error == std::errc() && end == last && index >= 0 && index < 128 &&
                 (*first != '0' || last - first == 1),
             "Invalid device string: '", text, "'");
    device.index = int8_t(index);
  }
  return device;
}

}  // namespace mt
