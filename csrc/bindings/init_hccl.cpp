// _C._npu.Communicator: collectives of NPUs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "backends/npu/communicator.h"
#include "bindings/casters.h"
#include "bindings/python_lock.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {

void init_hccl(nb::module_& m);

void init_hccl(nb::module_& m) {
  using C = npu::Communicator;
  m.def("hccl_problem", &npu::hccl_problem, "Why there are no collectives; an empty text where there are.");
  m.def(
      "new_root_info",
      [](int device) {
        const std::string info = C::new_root_info(device);
        return nb::bytes(info.data(), info.size());
      },
      "device"_a, "What one process makes and all others of a group are given.");
  nb::class_<C, devices::Communicator>(m, "Communicator", "One process's end of a group of NPUs.")
      .def(
          "__init__",
          [](C* self, int device, const nb::bytes& root_info, uint32_t ranks, uint32_t rank,
             const std::string& name, int64_t exec_timeout, uint32_t buffer_mib) {
            const std::string info(root_info.c_str(), root_info.size());
            const WithoutPythonLock others_may_run;  // it waits for the other processes
            new (self) C(device, info, ranks, rank, {name, exec_timeout, buffer_mib});
          },
          "device"_a, "root_info"_a, "ranks"_a, "rank"_a, "name"_a = "", "exec_timeout"_a = 0,
          "buffer_mib"_a = 0);
}

}  // namespace mt::bindings
