// _C._DeviceGraph: a captured graph of any accelerator with streams; _devices/graphs.py makes PyTorch's class of it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings/casters.h"
#include "bindings/init_accelerator.h"
#include "devices/device_graph.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

using devices::CaptureMode;
using devices::DeviceGraph;
using devices::StreamAccelerator;

StreamAccelerator& accelerator_named(const std::string& type) {
  for (int slot = 0; slot < kDeviceTypes; ++slot)
    if (StreamAccelerator* found = devices::stream_accelerator(DeviceType(slot)))
      if (type == name_of(DeviceType(slot))) return *found;
  fail(ErrorKind::runtime, "there is no accelerator '", type, "' that has streams, so it has no graphs");
}

CaptureMode capture_mode(const std::string& name) {
  if (name == "global") return CaptureMode::global;
  if (name == "thread_local") return CaptureMode::this_thread;
  if (name == "relaxed") return CaptureMode::relaxed;
  fail(ErrorKind::runtime,
       "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got ", name);
}

}  // namespace

void add_graphs(nb::module_& m) {
  nb::class_<DeviceGraph>(m, "_DeviceGraph")
      .def(
          "__init__",
          [](DeviceGraph* self, const std::string& type) { new (self) DeviceGraph(accelerator_named(type)); },
          "type"_a)
      .def("add_generator",
           [](DeviceGraph& self, nb::handle generator) {
             MT_CHECK_AS(type, PyObject_TypeCheck(generator.ptr(), g_generator_type),
                         "register_generator_state wants a torch.Generator, but got ",
                         Py_TYPE(generator.ptr())->tp_name);
             self.add_generator(
                 GeneratorRef::share(reinterpret_cast<GeneratorObject*>(generator.ptr())->value));
           })
      .def(
          "begin",
          [](DeviceGraph& self, int64_t pool, const std::string& mode) {
            self.begin(pool, capture_mode(mode));
          },
          "pool"_a, "mode"_a)
      .def_static("any_is_captured", &DeviceGraph::any_is_captured)
      .def("end", &DeviceGraph::end)
      .def("replay", &DeviceGraph::replay)
      .def("reset", &DeviceGraph::reset)
      .def("describe", &DeviceGraph::describe, "path"_a)
      .def_prop_ro("is_complete", &DeviceGraph::is_complete)
      .def_prop_ro("is_capturing", &DeviceGraph::is_capturing);
}

}  // namespace mt::bindings
