// The backends of accelerators that are linked in. Each registers itself before the module is made:
//
//   static const bindings::BackendInit registered(init_my_device);
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

namespace mt::bindings {

struct BackendInit {
  using Init =
      void(nanobind::module_& parent);  // registers kernels and accelerator, adds the device's module
  explicit BackendInit(Init* init) { all().push_back(init); }
  static std::vector<Init*>& all();
};

}  // namespace mt::bindings
