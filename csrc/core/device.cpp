#include "core/device.h"

#include <charconv>
#include <iterator>

#include "base/error.h"

namespace mt {
namespace {

// Devices that programs may name but that nothing here drives. No tensor is ever on one.
constexpr const char* kForeign[] = {"cuda", "xpu", "mps", "hpu", "xla", "mtia"};

}  // namespace

const char* name_of(DeviceType type) {
  switch (type) {
    case DeviceType::cpu: return "cpu";
    case DeviceType::npu: return "npu";
    case DeviceType::meta: return "meta";
    default: return kForeign[int(type) - kDeviceTypes];
  }
}

std::string to_string(Device device) {
  std::string text = name_of(device.type);
  if (device.index >= 0) text += ":" + std::to_string(int(device.index));
  return text;
}

Device parse_device(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string type = text.substr(0, colon);
  MT_CHECK(!type.empty(), "Device string must not be empty");
  const int count = kDeviceTypes + int(std::size(kForeign));
  int found = 0;
  while (found < count && type != name_of(DeviceType(found))) ++found;
  MT_CHECK(found < count,
           "Expected one of cpu, npu, meta, cuda, xpu, mps, hpu, xla, mtia device type at start of device "
           "string: ",
           text);
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
