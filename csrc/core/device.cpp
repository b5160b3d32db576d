#include "core/device.h"

#include <charconv>

#include "base/error.h"

namespace mt {

const char* name_of(DeviceType type) {
  switch (type) {
    case DeviceType::cpu: return "cpu";
    case DeviceType::npu: return "npu";
    default: return "meta";
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
  Device device;
  if (type == "cpu") device.type = DeviceType::cpu;
  else if (type == "npu") device.type = DeviceType::npu;
  else if (type == "meta") device.type = DeviceType::meta;
  else if (type.empty()) fail(ErrorKind::runtime, "Device string must not be empty");
  else
    fail(ErrorKind::runtime, "Expected one of cpu, npu, meta device type at start of device string: ", text);
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
