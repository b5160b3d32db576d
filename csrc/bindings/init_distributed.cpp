// torch._C._distributed: what processes that work together have in C++.
#include <nanobind/nanobind.h>

#include "distributed/store_server.h"

namespace mt::bindings {

namespace nb = nanobind;

void init_distributed(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_distributed", "Processes that work together.");
  nb::class_<distributed::StoreServer>(m, "_StoreServer",
                                       "Serves the keys of a TCPStore, in a thread of its own.",
                                       nb::is_weak_referenceable())
      .def(nb::init<int, int>(), nb::arg("port"), nb::arg("listening") = -1)
      .def_prop_ro("port", &distributed::StoreServer::port);
}

}  // namespace mt::bindings
