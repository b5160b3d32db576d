// _C._npu: the NPU runtime for the Python modules. Streams and events are integers; errors are raised.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "backends/npu/acl_error.h"
#include "backends/npu/copy.h"
#include "backends/npu/generator.h"
#include "backends/npu/launch_log.h"
#include "backends/npu/npu_backend.h"
#include "backends/npu/npu_runtime.h"
#include "backends/npu/stream_device.h"
#include "bindings/allocators.h"
#include "bindings/casters.h"
#include "bindings/python_frame.h"
#include "bindings/python_lock.h"
#include "bindings/python_upstream.h"
#include "core/dispatch.h"
#include "core/observe_task.h"
#include "generated/ops/substitutes/register.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {

void init_acl(nb::module_& parent);
void init_aclnn(nb::module_& m);

namespace {

using npu::acl;
using npu::check;
using runtime::Stream;
using runtime::StreamHandle;
using WithoutGil = nb::call_guard<WithoutPythonLock>;

// The Python functions behind npu::HostHooks. They live as long as the process.
struct PythonHooks {
  nb::object prepare, synchronize;
};
PythonHooks* g_python = nullptr;

void prepare() {
  if (interpreter_is_exiting()) fail(ErrorKind::runtime, "The device is not used while the process exits.");
  PythonLock gil;
  g_python->prepare();
}

// Reading data of the default stream goes through the Python runtime object, which also frees what it deferred;
// other streams have no such object.
void synchronize(int device, void* stream) {
  if (interpreter_is_exiting()) fail(ErrorKind::runtime, "The device is not used while the process exits.");
  PythonLock gil;
  if (stream == npu::NpuRuntime::default_stream_handle(device)) {
    TaskScope scope({TaskKind::stream_sync, "aclrtSynchronizeStream", "Stream Sync", device, stream});
    g_python->synchronize(device);
    return;
  }
  WithoutPythonLock waiting;
  npu::npu().synchronize_stream({device, 0, StreamHandle(stream)});
}

// --- where Python is (Note [Launches and their lines]) ---

npu::HostPosition position() {
  if (!PyGILState_Check()) return {};
  const CodePosition here = code_position();
  return {here.code, here.instruction};
}

void drop_position(const npu::HostPosition& position) {
  if (!interpreter_is_exiting()) Py_DECREF(static_cast<PyObject*>(position.code));
}

std::string describe_position(const npu::HostPosition& position) {
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

void set_hooks(nb::object prepare_hook, nb::object synchronize_hook) {
  delete g_python;
  g_python = new PythonHooks{std::move(prepare_hook), std::move(synchronize_hook)};
  npu::HostHooks hooks;
  hooks.prepare = prepare;
  hooks.synchronize = synchronize;
  hooks.pinned_pool = npu_pinned_pool;
  hooks.position = position;
  hooks.drop_position = drop_position;
  hooks.describe_position = describe_position;
  hooks.with_lock = with_lock;
  npu::set_host_hooks(hooks);
}

Tensor pin_memory(const Tensor& tensor) {
  MT_CHECK(tensor.device().is_cpu(), "cannot pin '", to_string(tensor.device()),
           "': only dense CPU tensors can be pinned");
  if (tensor.storage().pinned) return tensor;
  Dims strides(size_t(tensor.dim()));
  contiguous_strides(tensor.sizes(), strides.data());
  Tensor pinned =
      tensor_over(npu::new_pinned_storage(tensor.nbytes()), tensor.dtype(), tensor.sizes(), strides, 0);
  if (tensor.numel()) copy_between(tensor, pinned, false);
  return pinned;
}

// How many devices the loaded libraries count, or what they say instead.
std::pair<int, std::string> probe() {
  try {
    const int code = acl().aclInit(nullptr);
    if (code != ACL_ERROR_REPEAT_INITIALIZE) check(code, "aclInit");
    uint32_t count = 0;
    check(acl().aclrtGetDeviceCount(&count), "aclrtGetDeviceCount");
    return {int(count), count ? "" : "the libraries load but count no device"};
  } catch (const Error& error) { return {0, error.what()}; }
}

void add_devices(nb::module_& m) {
  m.def("load", &npu::load_acl, "folder"_a,
        "Loads the libraries; returns why it could not, or an empty text.");
  m.def("is_loaded", &npu::acl_is_loaded);
  m.def("loaded_from", [] { return acl().loaded_from; });
  m.def(
      "symbol", [](const std::string& name) { return uintptr_t(npu::find_symbol(name.c_str())); },
      "The address of a function of the libraries, 0 if they lack it.");
  m.def("probe", &probe);
  m.def("is_initialized", [] { return npu::npu().is_initialized(); });
  m.def("is_in_bad_fork", [] { return npu::npu().is_in_bad_fork(); });
  m.def("device_count", [] { return npu::npu().device_count(); });
  m.def(
      "open",
      [](int device) {
        npu::activate(device);
        return std::make_pair(uintptr_t(npu::npu().context(device)),
                              uintptr_t(npu::NpuRuntime::default_stream_handle(device)));
      },
      "Makes the device ready and current for AscendCL on this thread; returns its context and default "
      "stream.");
  m.def(
      "active_device", [] { return thread_state().active_npu; },
      "AscendCL's device on this thread; -1 for none yet.");
  m.def("current_device", [] { return npu::npu().current_device(); });
  m.def("set_device", [](int device) { npu::npu().set_device(device); });
  m.def("synchronize_device", [](int device) { npu::npu().synchronize_device(device); }, WithoutGil());
  m.def("soc_name", [] { return std::string(acl().aclrtGetSocName()); });
  m.def(
      "device_info",
      [](int device, int attribute) -> std::optional<int64_t> {
        int64_t value = 0;
        if (!acl().aclrtGetDeviceInfo ||
            acl().aclrtGetDeviceInfo(uint32_t(device), aclrtDevAttr(attribute), &value) != 0)
          return std::nullopt;
        return value;
      },
      "None where the driver does not tell.");
  m.def(
      "utilization",
      [](int device) -> std::optional<std::array<int, 4>> {
        aclrtUtilizationInfo used{};
        npu::activate(device);
        if (!acl().aclrtGetDeviceUtilizationRate || acl().aclrtGetDeviceUtilizationRate(device, &used) != 0)
          return std::nullopt;
        return std::array<int, 4>{used.cubeUtilization, used.vectorUtilization, used.aicpuUtilization,
                                  used.memoryUtilization};
      },
      "Per cent of cube cores, vector cores, AI CPUs and memory; None where the driver does not tell.");
  m.def("can_access_peer", [](int device, int peer) {
    int32_t possible = 0;
    npu::activate(device);
    check(acl().aclrtDeviceCanAccessPeer(&possible, device, peer), "aclrtDeviceCanAccessPeer");
    return possible != 0;
  });
  m.def("enable_peer_access", [](int peer) {
    npu::activate(npu::npu().current_device());
    check(acl().aclrtDeviceEnablePeerAccess(peer, 0), "aclrtDeviceEnablePeerAccess");
  });
  m.def("disable_peer_access", [](int peer) {
    MT_CHECK_AS(not_implemented, acl().aclrtDeviceDisablePeerAccess,
                "this AscendCL cannot disable peer access");
    npu::activate(npu::npu().current_device());
    check(acl().aclrtDeviceDisablePeerAccess(peer), "aclrtDeviceDisablePeerAccess");
  });
  m.def(
      "stream_priority_range",
      []() -> std::optional<std::pair<int, int>> {
        int32_t least = 0, greatest = 0;
        npu::activate(npu::npu().current_device());
        if (!acl().aclrtDeviceGetStreamPriorityRange ||
            acl().aclrtDeviceGetStreamPriorityRange(&least, &greatest) != 0)
          return std::nullopt;
        return std::make_pair(least, greatest);
      },
      "None where the runtime cannot be asked.");
}

void add_virtual_memory(nb::module_& m) {
  m.def("has_virtual_memory", [] { return npu::npu().has_virtual_memory(); });
  m.def("reserve_addresses",
        [](int device, size_t bytes) { return npu::npu().reserve_addresses(device, bytes); });
  m.def("release_addresses",
        [](int device, runtime::Address address) { npu::npu().release_addresses(device, address); });
  m.def("map_memory", [](int device, runtime::Address address, size_t bytes) {
    return npu::npu().map_memory(device, address, bytes);
  });
  m.def("unmap_memory", [](int device, runtime::Address address, runtime::MappingHandle memory) {
    npu::npu().unmap_memory(device, address, memory);
  });
}

void add_streams(nb::module_& m) {
  m.def("current_stream", [](int device) { return uintptr_t(npu::current_stream(device)); });
  m.def("set_stream", [](int device, uintptr_t stream) {
    npu::npu().open(device);
    npu::set_current_stream(device, reinterpret_cast<void*>(stream));
  });
  m.def("default_stream", [](int device) { return npu::npu().default_stream(device).handle; });
  m.def("pooled_stream",
        [](int device, int priority) { return npu::npu().pooled_stream(device, priority).handle; });
  m.def(
      "synchronize_stream",
      [](int device, StreamHandle stream) { npu::npu().synchronize_stream({device, 0, stream}); },
      WithoutGil());
  m.def("stream_is_idle",
        [](int device, StreamHandle stream) { return npu::npu().stream_is_idle({device, 0, stream}); });
  m.def(
      "create_event",
      [](int device, bool timing, bool interprocess) {
        return npu::npu().create_event(device, {timing, true, interprocess});
      },
      "device"_a, "timing"_a, "interprocess"_a = false);
  m.def("export_event", [](runtime::EventHandle event) {
    const std::string bytes = npu::npu().export_event(event);
    return nb::bytes(bytes.data(), bytes.size());
  });
  m.def("import_event", [](int device, const nb::bytes& bytes) {
    return npu::npu().import_event(device, {bytes.c_str(), bytes.size()});
  });
  m.def(
      "stream_device",
      [](StreamHandle stream) { return npu::device_of_stream(reinterpret_cast<void*>(stream)); },
      "The device of a stream; of one made elsewhere, the current one.");
  m.def(
      "note_waited", [](StreamHandle stream) { npu::note_waited(reinterpret_cast<void*>(stream)); },
      "Everything enqueued on the stream has ended well: a later failure is not one of it.");
  m.def("sync_debug_mode", [] { return int(npu::g_sync_debug_mode.load()); });
  m.def("set_sync_debug_mode", [](int mode) { npu::g_sync_debug_mode = npu::SyncDebugMode(mode); });
  m.def("destroy_event", [](runtime::EventHandle event) { npu::npu().destroy_event(event); });
  m.def("record_event", [](runtime::EventHandle event, int device, StreamHandle stream) {
    npu::npu().record_event(event, {device, 0, stream});
  });
  m.def("event_is_complete", [](runtime::EventHandle event) { return npu::npu().event_is_complete(event); });
  m.def(
      "synchronize_event", [](runtime::EventHandle event) { npu::npu().synchronize_event(event); },
      WithoutGil());
  m.def("stream_wait_event", [](int device, StreamHandle stream, runtime::EventHandle event) {
    npu::npu().make_stream_wait({device, 0, stream}, event);
  });
  m.def("elapsed_ms", [](runtime::EventHandle begin, runtime::EventHandle end) {
    return npu::npu().elapsed_ms(begin, end);
  });
  m.def("record_stream", [](const Tensor& tensor, uintptr_t stream) {
    npu::record_stream(tensor.storage(), reinterpret_cast<void*>(stream));
  });
}

}  // namespace

void init_npu(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_npu", "The NPU runtime.");
  m.def("set_hooks", &set_hooks, "prepare"_a, "synchronize"_a);
  add_devices(m);
  add_streams(m);
  add_virtual_memory(m);
  m.def("pin_memory", &pin_memory);
  m.def("is_pinned", [](const Tensor& tensor) { return tensor.storage().pinned; });
  m.def(
      "seed_all", [](uint64_t seed) { npu::seed_all(seed); },
      "Seeds the default generators of all devices without starting one.");
  m.def("seed_device", [](int device, uint64_t seed) {
    npu::NpuGenerator& generator = npu::default_generator(device);
    std::lock_guard<std::mutex> guard(generator.mutex);
    generator.set_seed(seed);
  });
  m.def("error_text", &npu::describe_acl_error, "code"_a, "function"_a, "advice"_a = true,
        "What an error of AscendCL means.");
  init_acl(parent);
  init_aclnn(m);
  npu::register_npu_backend();
  substitutes::register_all();
}

}  // namespace mt::bindings
