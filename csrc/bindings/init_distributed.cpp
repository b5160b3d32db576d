// torch._C._distributed: what processes that work together have in C++.
#include <nanobind/nanobind.h>
#include <nanobind/stl/unique_ptr.h>

#include "bindings/casters.h"
#include "bindings/python_lock.h"
#include "distributed/store_server.h"
#include "distributed/stream_lane.h"

namespace mt::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using distributed::LaneMark;
using distributed::StreamLane;
using WithoutGil = nb::call_guard<WithoutPythonLock>;

namespace {

// Note [Stream lanes] in distributed/stream_lane.h.
void add_stream_lanes(nb::module_& m) {
  nb::class_<LaneMark>(m, "_LaneMark", "The end of a work on a stream.")
      .def(nb::init<Device>(), "device"_a, "Behind what this thread has enqueued on the device so far.")
      .def(
          "wait", [](const LaneMark& mark, const std::vector<Tensor>& tensors) { mark.wait(tensors); },
          "tensors"_a = std::vector<Tensor>(),
          "The current stream of the device does nothing more before it.")
      .def("is_complete", &LaneMark::is_complete)
      .def("synchronize", &LaneMark::synchronize, WithoutGil(), "The host waits for it.");
  nb::class_<StreamLane>(m, "_StreamLane", "A stream of an accelerator for the works of a group.")
      .def(nb::init<Device>(), "device"_a)
      .def_prop_ro("stream", [](const StreamLane& lane) { return StreamHandle(lane.stream()); })
      .def(
          "run",
          [](StreamLane& lane, const std::vector<Tensor>& tensors, const nb::callable& enqueue,
             const LaneMark* after) { return lane.run(tensors, [&] { enqueue(); }, after); },
          "tensors"_a, "enqueue"_a, "after"_a.none() = nb::none(),
          "Calls a function that enqueues work on tensors, behind what the current stream has; gives its "
          "end.")
      .def("synchronize", &StreamLane::synchronize, WithoutGil(), "The host waits for all works.");
}

}  // namespace

void init_distributed(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_distributed", "Processes that work together.");
  nb::class_<distributed::StoreServer>(m, "_StoreServer",
                                       "Serves the keys of a TCPStore, in a thread of its own.",
                                       nb::is_weak_referenceable())
      .def(nb::init<int, int>(), nb::arg("port"), nb::arg("listening") = -1)
      .def_prop_ro("port", &distributed::StoreServer::port);
  add_stream_lanes(m);
}

}  // namespace mt::bindings
