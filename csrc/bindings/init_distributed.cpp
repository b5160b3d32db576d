// torch._C._distributed: what processes that work together have in C++.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include "bindings/casters.h"
#include "bindings/python_lock.h"
#include "bindings/python_stack.h"
#include "devices/communicator.h"
#include "distributed/flight_ring.h"
#include "distributed/store_server.h"
#include "distributed/stream_lane.h"

namespace mt::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using distributed::FlightRing;
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

// What the vendors' classes share; each adds how it is made.
void add_communicator(nb::module_& m) {
  using C = devices::Communicator;
  using devices::Reduction;
  nb::class_<C>(
      m, "_Communicator",
      "One process's end of a group of devices. Collectives go to the current stream of its device.")
      .def_prop_ro("device", &C::device)
      .def("close", &C::close, "orderly"_a, "After its streams have ended, or giving up what is under way.")
      .def("abort", &C::abort, "why"_a, "Gives up what is under way; whoever waits for it is told why.")
      .def("problem", &C::problem, "What failed while the host was elsewhere; an empty text: nothing.")
      .def(
          "all_reduce", [](C& self, const Tensor& tensor, int op) { self.all_reduce(tensor, Reduction(op)); },
          "tensor"_a, "op"_a)
      .def(
          "reduce",
          [](C& self, const Tensor& tensor, uint32_t root, int op) {
            self.reduce(tensor, root, Reduction(op));
          },
          "tensor"_a, "root"_a, "op"_a)
      .def("broadcast", &C::broadcast, "tensor"_a, "root"_a)
      .def("all_gather", &C::all_gather, "out"_a, "tensor"_a)
      .def(
          "reduce_scatter",
          [](C& self, const Tensor& out, const Tensor& tensor, int op) {
            self.reduce_scatter(out, tensor, Reduction(op));
          },
          "out"_a, "tensor"_a, "op"_a)
      .def("scatter", &C::scatter, "out"_a, "tensor"_a.none(), "root"_a)
      .def("all_to_all", &C::all_to_all, "out"_a, "tensor"_a, "out_counts"_a, "counts"_a)
      .def("send", &C::send, "tensor"_a, "peer"_a)
      .def("receive", &C::receive, "tensor"_a, "peer"_a)
      .def("barrier", &C::barrier);
}

nb::list as_list(const std::vector<distributed::FlightTensor>& tensors) {
  nb::list result;
  for (const auto& [sizes, dtype] : tensors) result.append(nb::make_tuple(sizes, dtype));
  return result;
}

nb::list entries(const FlightRing& ring) {
  nb::list result;
  for (const distributed::FlightEntry& entry : ring.entries())
    result.append(nb::make_tuple(entry.number, entry.collectives, entry.messages, entry.is_message,
                                 entry.engine, entry.name, as_list(entry.inputs), as_list(entry.outputs),
                                 entry.created_ns, entry.started_ns, entry.ended_ns, entry.failed,
                                 entry.stack));
  return result;
}

void add_flight_ring(nb::module_& m) {
  nb::class_<FlightRing>(m, "_FlightRing", "The last collectives and messages of a group.")
      .def(nb::init<size_t>(), "capacity"_a)
      .def(
          "add",
          [](FlightRing& ring, std::string_view engine, std::string_view name,
             const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, bool is_message,
             bool stack) {
            return ring.add(engine, name, inputs, outputs, is_message, stack ? python_stack_id() : 0);
          },
          "engine"_a, "name"_a, "inputs"_a, "outputs"_a, "is_message"_a, "stack"_a,
          "A work that the program has asked for; gives its number.")
      .def("start", &FlightRing::start, "number"_a)
      .def("end", &FlightRing::end, "number"_a, "failed"_a = false)
      // Tuples of: number, collectives and messages so far, whether it is a message, engine, name, inputs and outputs as (sizes,
      // dtype), when it was created, started and done in nanoseconds since 1970 (0: not yet), whether it failed, stack.
      .def("entries", &entries, "The oldest first.")
      .def("clear", &FlightRing::clear)
      .def(
          "position",
          [](const FlightRing& ring) {
            const distributed::FlightPosition at = ring.position();
            return nb::make_tuple(at.created, at.started, at.ended, at.name);
          },
          "Numbers of the last collective that was created, started and done; the name of the first.");
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
  add_communicator(m);
  add_flight_ring(m);
}

}  // namespace mt::bindings
