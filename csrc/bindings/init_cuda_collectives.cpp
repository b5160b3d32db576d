// _C._cuda.Communicator: collectives of GPUs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "backends/cuda/communicator.h"
#include "bindings/backends.h"
#include "bindings/casters.h"
#include "bindings/python_lock.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

void init_nccl(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_cuda");
  using C = cuda::Communicator;
  m.def(
      "new_nccl_id",
      [] {
        const std::string id = C::new_id();
        return nb::bytes(id.data(), id.size());
      },
      "What one process makes and all others of a group are given.");
  nb::class_<C, devices::Communicator>(m, "Communicator", "One process's end of a group of GPUs.")
      .def(
          "__init__",
          [](C* self, Device device, const nb::bytes& id, uint32_t ranks, uint32_t rank,
             const std::string& name) {
            const std::string known(id.c_str(), id.size());
            const WithoutPythonLock others_may_run;  // it waits for the other processes
            new (self) C(device, known, ranks, rank, name);
          },
          "device"_a, "id"_a, "ranks"_a, "rank"_a, "name"_a = "");
}

const BackendInit registered_collectives(init_nccl);

}  // namespace
}  // namespace mt::bindings
