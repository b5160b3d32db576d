// _C._npu: what the NPU has beside what every accelerator has (init_accelerator.cpp).
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "backends/npu/acl_error.h"
#include "backends/npu/npu_driver.h"
#include "bindings/backends.h"
#include "bindings/casters.h"
#include "bindings/init_accelerator.h"
#include "bindings/python_lock.h"
#include "bindings/python_upstream.h"
#include "generated/ops/substitutes/register.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {

void init_acl(nb::module_& parent);
void init_aclnn(nb::module_& m);
void init_hccl(nb::module_& m);

namespace {

using npu::acl;
using npu::check;

// Finds and loads the libraries. It lives as long as the process.
nb::object* g_loader = nullptr;

void set_loader(nb::object loader) {
  delete g_loader;
  g_loader = new nb::object(std::move(loader));
  npu::driver().load = [] { with_python([] { (*g_loader)(); }); };
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
  m.def(
      "open",
      [](int device) {
        npu::activate(device);
        return std::make_pair(uintptr_t(npu::driver().context(device)),
                              uintptr_t(npu::npu().default_stream(device)));
      },
      "Makes the device ready and current for AscendCL on this thread; returns its context and default "
      "stream.");
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

void* pointer(uintptr_t handle) { return reinterpret_cast<void*>(handle); }

// Operators of a captured stream that can be replaced while the graph is replayed.
void add_task_groups(nb::module_& m) {
  const auto api = []() -> const npu::AclApi& {
    MT_CHECK_AS(not_implemented,
                acl().aclmdlRICaptureTaskGrpBegin && acl().aclmdlRICaptureTaskGrpEnd &&
                    acl().aclmdlRICaptureTaskUpdateBegin && acl().aclmdlRICaptureTaskUpdateEnd,
                "this AscendCL cannot update tasks of graphs");
    return acl();
  };
  m.def("begin_task_group", [api](StreamHandle stream) {
    check(api().aclmdlRICaptureTaskGrpBegin(pointer(stream)), "aclmdlRICaptureTaskGrpBegin");
  });
  m.def("end_task_group", [api](StreamHandle stream) {
    aclrtTaskGrp group = nullptr;
    check(api().aclmdlRICaptureTaskGrpEnd(pointer(stream), &group), "aclmdlRICaptureTaskGrpEnd");
    return uintptr_t(group);
  });
  m.def("begin_task_update", [api](StreamHandle stream, uintptr_t group) {
    MT_CHECK(
        !npu::npu().launch_blocking(),
        "operators of an update are recorded, so that none can be waited for: unset ACL_LAUNCH_BLOCKING");
    check(api().aclmdlRICaptureTaskUpdateBegin(pointer(stream), pointer(group)),
          "aclmdlRICaptureTaskUpdateBegin");
  });
  m.def("end_task_update", [api](StreamHandle stream) {
    check(api().aclmdlRICaptureTaskUpdateEnd(pointer(stream)), "aclmdlRICaptureTaskUpdateEnd");
  });
}

// Events that a graph and work outside of it can wait for: flags, raised by a record and lowered by a reset.
void add_external_events(nb::module_& m) {
  m.def("create_external_event", [](int device) {
    MT_CHECK_AS(not_implemented, acl().aclrtCreateEventWithFlag && acl().aclrtResetEvent,
                "this AscendCL has no external events");
    npu::activate(device);
    aclrtEvent event = nullptr;
    check(acl().aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL), "aclrtCreateEventWithFlag");
    return EventHandle(event);
  });
  m.def("destroy_external_event", [](EventHandle event) { npu::driver().destroy_event(event); });
  m.def("record_external_event", [](EventHandle event, int device, StreamHandle stream) {
    npu::activate(device);
    npu::driver().record_event(event, stream);
  });
  m.def("wait_external_event", [](int device, StreamHandle stream, EventHandle event) {
    npu::activate(device);
    npu::driver().make_stream_wait(stream, event);
  });
  m.def("reset_external_event", [](EventHandle event, int device, StreamHandle stream) {
    npu::activate(device);
    check(acl().aclrtResetEvent(pointer(event), pointer(stream)), "aclrtResetEvent");
  });
}

void init_npu(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_npu", "The NPU runtime.");
  npu::register_npu_backend();
  substitutes::register_all();
  add_accelerator(m, npu::npu());
  m.def("set_loader", &set_loader, "loader"_a, "Called before the first use; raises where there is no NPU.");
  add_devices(m);
  add_task_groups(m);
  add_external_events(m);
  m.def("error_text", &npu::describe_acl_error, "code"_a, "function"_a, "advice"_a = true,
        "What an error of AscendCL means.");
  init_acl(parent);
  init_aclnn(m);
  init_hccl(m);
}

const BackendInit registered_npu(init_npu);

}  // namespace

}  // namespace mt::bindings
