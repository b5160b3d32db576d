// torch.autocast's state of the thread.
#include "ops/autocast.h"

#include "bindings/casters.h"

namespace nb = nanobind;

namespace mt::bindings {
namespace {

// As PyTorch's functions take it: "cpu", or the name of an accelerator, with or without an index.
DeviceType autocast_device(const std::string& text) {
  const DeviceType type = parse_device(text).type;
  MT_CHECK(type == DeviceType::cpu || is_accelerator(type),
           "unknown device type for autocast in get_autocast_dispatch_key_from_device_type");
  return type;
}

}  // namespace

void init_autocast(nb::module_& m) {
  m.def("_is_autocast_enabled",
        [](const std::string& device) { return autocast::is_enabled(autocast_device(device)); });
  m.def("_set_autocast_enabled", [](const std::string& device, bool enabled) {
    autocast::set_enabled(autocast_device(device), enabled);
  });
  m.def("_get_autocast_dtype",
        [](const std::string& device) { return autocast::lower_dtype(autocast_device(device)); });
  m.def("_set_autocast_dtype", [](const std::string& device, DType dtype) {
    autocast::set_lower_dtype(autocast_device(device), dtype);
  });
  m.def("_is_autocast_available", [](const std::string& device) {
    const DeviceType type = parse_device(device).type;
    return type == DeviceType::cpu || is_accelerator(type);
  });
  m.def("_is_any_autocast_enabled", autocast::any_enabled);
  m.def("clear_autocast_cache", autocast::clear_cache);
  m.def("is_autocast_cache_enabled", [] { return autocast::state().cache_enabled; });
  m.def("set_autocast_cache_enabled", [](bool enabled) { autocast::state().cache_enabled = enabled; });
  m.def("autocast_increment_nesting", [] { return ++autocast::state().nesting; });
  m.def("autocast_decrement_nesting", [] { return --autocast::state().nesting; });
}

}  // namespace mt::bindings
