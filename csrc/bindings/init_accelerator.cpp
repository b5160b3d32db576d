// The runtime of a device for its Python module. Streams and events are integers; errors are raised.
#include "bindings/init_accelerator.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/casters.h"
#include "bindings/python_frame.h"
#include "bindings/python_lock.h"
#include "bindings/python_upstream.h"
#include "bindings/tensor_object.h"
#include "core/dispatch.h"
#include "core/host_position.h"
#include "core/intercept_python.h"
#include "devices/launch_log.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

using devices::StreamAccelerator;
using devices::SyncDebugMode;
using WithoutGil = nb::call_guard<WithoutPythonLock>;

void* pointer(StreamHandle stream) { return reinterpret_cast<void*>(stream); }

// --- where Python is (Note [Launches and their lines] in runtime/launch_log.cpp) ---

HostPosition position() {
  if (!PyGILState_Check()) return {};
  const CodePosition here = code_position();
  return {here.code, here.instruction};
}

void drop_position(const HostPosition& position) {
  if (!interpreter_is_exiting()) Py_DECREF(static_cast<PyObject*>(position.code));
}

std::string describe_position(const HostPosition& position) {
  auto* code = static_cast<PyCodeObject*>(position.code);
  const int line = PyCode_Addr2Line(code, position.instruction);
  return join_text("at ", nb::str(nb::handle(code->co_filename)).c_str(), ":", line, " in ",
                   nb::str(nb::handle(code->co_name)).c_str());
}

void with_lock(const std::function<void()>& body) {
  if (interpreter_is_exiting()) return;
  PythonLock gil;
  body();
}

// A Python function that replaces the wait for a default stream; called with and without the lock.
std::function<void()> waiter(nb::object function) {
  if (function.is_none()) return {};
  return [callable = share_callable(std::move(function))] {
    if (interpreter_is_exiting()) fail(ErrorKind::runtime, "The device is not used while the process exits.");
    PythonLock gil;
    nb::handle(callable.get())();
  };
}

Tensor pin_memory(StreamAccelerator& accelerator, const Tensor& tensor) {
  MT_CHECK(tensor.device().is_cpu(), "cannot pin '", to_string(tensor.device()),
           "': only dense CPU tensors can be pinned");
  MT_CHECK(!(special(tensor) & kWithoutMemory), "a tensor without memory of its own cannot be pinned");
  if (tensor.storage().pinned) return tensor;
  Dims strides(size_t(tensor.dim()));
  contiguous_strides(tensor.sizes(), strides.data());
  Tensor pinned = tensor_over(accelerator.new_pinned_storage(tensor.nbytes()), tensor.dtype(), tensor.sizes(),
                              strides, 0);
  if (tensor.numel()) copy_between(tensor, pinned, false);
  return pinned;
}

void add_devices(nb::module_& m, StreamAccelerator& a) {
  m.def("is_initialized", [&a] { return a.is_initialized(); });
  m.def("is_in_bad_fork", [&a] { return a.is_in_bad_fork(); });
  m.def("device_count", [&a] { return a.device_count(); });
  m.def("current_device", [&a] { return a.current_device(); });
  m.def("set_device", [&a](int device) { a.set_device(device); });
  m.def("synchronize_device", [&a](int device) { a.synchronize(device); });
  m.def("memory_info", [&a](int device) {
    const MemoryInfo info = a.memory_info(device);
    return std::make_pair(info.free, info.total);
  });
  m.def("has_virtual_memory", [&a] {
    a.initialize();
    return a.driver().has_virtual_memory();
  });
}

void add_streams(nb::module_& m, StreamAccelerator& a) {
  m.def("current_stream",
        [&a](int device) { return StreamHandle(current_stream({a.slot(), int8_t(device)})); });
  m.def("set_stream", [&a](int device, StreamHandle stream) {
    a.open(device);
    set_current_stream({a.slot(), int8_t(device)}, pointer(stream));
  });
  m.def("default_stream", [&a](int device) { return StreamHandle(a.default_stream(device)); });
  m.def("pooled_stream",
        [&a](int device, int priority) { return StreamHandle(a.pooled_stream(device, priority)); });
  m.def(
      "synchronize_stream",
      [&a](int device, StreamHandle stream) { a.synchronize_stream(device, pointer(stream)); }, WithoutGil());
  m.def("share", [&a] { a.share(); });
  m.def("stream_is_idle",
        [&a](int device, StreamHandle stream) { return a.stream_is_idle(device, pointer(stream)); });
  m.def(
      "stream_is_capturing",
      [&a](int device, StreamHandle stream) { return a.stream_is_capturing(device, pointer(stream)); },
      "Whether what is enqueued on the stream is recorded instead of run; False for a device that is not in "
      "use.");
  m.def(
      "replace_wait",
      [&a](int device, nb::object function) { a.replace_default_wait(device, waiter(std::move(function))); },
      "device"_a, "function"_a.none(),
      "What waits for the default stream when its data is read; None: the runtime.");
  m.def("sync_debug_mode", [&a] { return int(a.sync_debug_mode.load()); });
  m.def("set_sync_debug_mode", [&a](int mode) { a.sync_debug_mode = SyncDebugMode(mode); });
}

void add_events(nb::module_& m, StreamAccelerator& a) {
  m.def(
      "create_event",
      [&a](int device, bool timing, bool interprocess) {
        return a.create_event(device, {timing, true, interprocess});
      },
      "device"_a, "timing"_a, "interprocess"_a = false);
  m.def("destroy_event", [&a](EventHandle event) { a.destroy_event(event); });
  m.def("record_event", [&a](EventHandle event, int device, StreamHandle stream) {
    a.record_event(event, device, pointer(stream));
  });
  m.def("event_is_complete", [&a](EventHandle event) { return a.event_is_complete(event); });
  m.def("synchronize_event", [&a](EventHandle event) { a.synchronize_event(event); }, WithoutGil());
  m.def("stream_wait_event", [&a](int device, StreamHandle stream, EventHandle event) {
    a.make_stream_wait(device, pointer(stream), event);
  });
  m.def("elapsed_ms", [&a](EventHandle begin, EventHandle end) { return a.elapsed_ms(begin, end); });
  m.def("export_event", [&a](EventHandle event) {
    const std::string bytes = a.export_event(event);
    return nb::bytes(bytes.data(), bytes.size());
  });
  m.def("import_event", [&a](int device, const nb::bytes& bytes) {
    return a.import_event(device, {bytes.c_str(), bytes.size()});
  });
}

}  // namespace

void add_accelerator(nb::module_& m, StreamAccelerator& a) {
  add_accelerator_functions(m, a);
  add_device_property(name_of(a.slot()), a.slot());
}

void add_accelerator_functions(nb::module_& m, StreamAccelerator& a) {
  g_host_positions = {position, drop_position, describe_position, with_lock};
  add_devices(m, a);
  add_streams(m, a);
  add_events(m, a);
  m.def("pin_memory", [&a](const Tensor& tensor) { return pin_memory(a, tensor); });
  m.def("is_pinned", [](const Tensor& tensor) { return tensor.storage().pinned; });
  m.def(
      "seed_all", [&a](uint64_t seed) { a.seed_all(seed); },
      "Seeds the default generators of all devices without starting one.");
  m.def("seed_device", [&a](int device, uint64_t seed) {
    Generator& generator = *a.default_generator(device);
    std::lock_guard guard(generator.mutex);
    generator.set_seed(seed);
  });
  m.def(
      "set_pool_makers",
      [&a](nb::object allocator, nb::object pinned_pool) {
        a.set_pool_makers({[make = share_callable(std::move(allocator))](int device) {
                             with_python([&] { nb::handle(make.get())(device); });
                           },
                           [make = share_callable(std::move(pinned_pool))] {
                             with_python([&] { nb::handle(make.get())(); });
                           }});
      },
      "allocator"_a, "pinned_pool"_a,
      "Called when native code needs the pool of a device, or of pinned memory, for the first time; they "
      "make the "
      "pools, which register themselves.");
}

void add_accelerators(nb::module_& m) {
  add_graphs(m);
  m.def("_accelerator_types", [] {
    std::vector<std::string> names;
    for (int type = 0; type < kDeviceTypes; ++type)
      if (find_accelerator(DeviceType(type))) names.push_back(name_of(DeviceType(type)));
    return names;
  });
  m.def(
      "_device_properties",
      [](Device device) {
        device = resolve_device(device);
        const DeviceProperties found = accelerator(device.type).properties(device.index);
        return nb::make_tuple(found.name, found.total_memory, found.processors);
      },
      "The name of an accelerator's chip, its bytes of memory, and its processors; 0 where the driver does "
      "not tell.");
  m.def("_record_stream", [](const Tensor& tensor, StreamHandle stream) {
    accelerator(tensor.device().type).record_stream(tensor.storage(), pointer(stream));
  });
  m.def("_rename_private_device",
        [](const std::string& name) { set_device_name(DeviceType::private_use, strdup(name.c_str())); });
}

}  // namespace mt::bindings
