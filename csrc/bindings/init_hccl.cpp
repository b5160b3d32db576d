// _C._npu.Communicator: collectives of NPUs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

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
  nb::class_<C>(
      m, "Communicator",
      "One process's end of a group of devices. Collectives go to the current stream of its device.")
      .def(
          "__init__",
          [](C* self, int device, const nb::bytes& root_info, uint32_t ranks, uint32_t rank,
             const std::string& name, int64_t exec_timeout, uint32_t buffer_mib) {
            const std::string info(root_info.c_str(), root_info.size());
            const WithoutPythonLock others_may_run;  // it waits for the other processes
            new (self) C(device, info, ranks, rank, {name, exec_timeout, buffer_mib});
          },
          "device"_a, "root_info"_a, "ranks"_a, "rank"_a, "name"_a = "", "exec_timeout"_a = 0,
          "buffer_mib"_a = 0)
      .def_prop_ro("device", &C::device)
      .def("close", &C::close)
      .def("problem", &C::problem, "What failed while the host was elsewhere; an empty text: nothing.")
      .def(
          "all_reduce",
          [](C& self, const Tensor& tensor, int op) { self.all_reduce(tensor, HcclReduceOp(op)); },
          "tensor"_a, "op"_a)
      .def(
          "reduce",
          [](C& self, const Tensor& tensor, uint32_t root, int op) {
            self.reduce(tensor, root, HcclReduceOp(op));
          },
          "tensor"_a, "root"_a, "op"_a)
      .def("broadcast", &C::broadcast, "tensor"_a, "root"_a)
      .def("all_gather", &C::all_gather, "out"_a, "tensor"_a)
      .def(
          "reduce_scatter",
          [](C& self, const Tensor& out, const Tensor& tensor, int op) {
            self.reduce_scatter(out, tensor, HcclReduceOp(op));
          },
          "out"_a, "tensor"_a, "op"_a)
      .def("scatter", &C::scatter, "out"_a, "tensor"_a.none(), "root"_a)
      .def("all_to_all", &C::all_to_all, "out"_a, "tensor"_a, "out_counts"_a, "counts"_a)
      .def("send", &C::send, "tensor"_a, "peer"_a)
      .def("receive", &C::receive, "tensor"_a, "peer"_a)
      .def("barrier", &C::barrier);
}

}  // namespace mt::bindings
