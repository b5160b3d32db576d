// What an optimizer asks of its lists of tensors at every step, in one call each.
#include <algorithm>

#include "bindings/casters.h"
#include "core/intercept.h"

namespace mt::bindings {

namespace nb = nanobind;

namespace {

const Tensor& checked(nb::handle object) {
  MT_CHECK_AS(type, is_tensor(object.ptr()), "wanted a list of tensors, got a ",
              Py_TYPE(object.ptr())->tp_name, " in it");
  return tensor_of(object.ptr());
}

std::vector<Device> devices(const nb::iterable& tensors) {
  std::vector<Device> found;
  for (nb::handle object : tensors) {
    const Device device = checked(object).device();
    if (std::find(found.begin(), found.end(), device) == found.end()) found.push_back(device);
  }
  return found;
}

bool any_complex(const nb::iterable& tensors) {
  for (nb::handle object : tensors)
    if (is_complex(checked(object).dtype())) return true;
  return false;
}

std::vector<size_t> sparse_places(const nb::iterable& tensors) {
  std::vector<size_t> found;
  size_t place = 0;
  for (nb::handle object : tensors) {
    if (special(checked(object)) & kSparse) found.push_back(place);
    ++place;
  }
  return found;
}

}  // namespace

void init_lists(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_lists", "Facts of the tensors of a list.");
  m.def("devices", &devices, nb::arg("tensors"),
        "Their devices, each once, in the order in which they come.");
  m.def("any_complex", &any_complex, nb::arg("tensors"), "Whether one has complex elements.");
  m.def("sparse_places", &sparse_places, nb::arg("tensors"), "The places of those that are sparse.");
}

}  // namespace mt::bindings
