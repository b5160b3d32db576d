// _C._privateuseone: the module of the device, and its registration.
#include "bindings/backends.h"
#include "bindings/init_accelerator.h"
#include "private_device.h"

namespace mt::private_device {
namespace {

void init(nanobind::module_& parent) {
  nanobind::module_ m = parent.def_submodule("_privateuseone", "A device made of the host.");
  register_private_device();
  bindings::add_accelerator(m, device());
}

const bindings::BackendInit registered(init);

}  // namespace
}  // namespace mt::private_device
