// _C._acl: AscendCL as pyACL shows it, over the libraries that are loaded. Results come as (value, code) and handles
// as integers; nothing raises for a code that is not 0.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "backends/npu/acl_api.h"
#include "backends/npu/npu_driver.h"
#include "bindings/python_lock.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace mt::bindings {
namespace {

using npu::acl;
using Handle = uintptr_t;
using Made = std::pair<Handle, int>;
using WithoutGil = nb::call_guard<WithoutPythonLock>;

void* pointer(Handle handle) { return reinterpret_cast<void*>(handle); }

template <class Make>
Made made(Make make) {
  void* handle = nullptr;
  const int code = make(&handle);
  return {Handle(handle), code};
}

std::optional<std::string> recent_message() {
  const char* text = acl().aclGetRecentErrMsg();
  return text ? std::optional<std::string>(text) : std::nullopt;
}

// The runtime remembers which device it made current, so it must hear of changes made here.
int changing_device(int code) {
  npu::npu().forget_active_device();
  return code;
}

void add_devices(nb::module_& rt) {
  rt.def("get_device_count", [] {
    uint32_t count = 0;
    const int code = acl().aclrtGetDeviceCount(&count);
    return std::make_pair(count, code);
  });
  rt.def("set_device", [](int device) { return changing_device(acl().aclrtSetDevice(device)); });
  rt.def("reset_device", [](int device) { return changing_device(acl().aclrtResetDevice(device)); });
  rt.def("get_device", [] {
    int32_t device = -1;
    const int code = acl().aclrtGetDevice(&device);
    return std::make_pair(device, code);
  });
  rt.def("synchronize_device", [] { return acl().aclrtSynchronizeDevice(); }, WithoutGil());
  rt.def("create_context", [](int device) {
    const Made result = made([&](void** context) { return acl().aclrtCreateContext(context, device); });
    npu::npu().forget_active_device();
    return result;
  });
  rt.def("destroy_context",
         [](Handle context) { return changing_device(acl().aclrtDestroyContext(pointer(context))); });
  rt.def("set_context",
         [](Handle context) { return changing_device(acl().aclrtSetCurrentContext(pointer(context))); });
  rt.def("get_context",
         [] { return made([](void** context) { return acl().aclrtGetCurrentContext(context); }); });
  rt.def("get_mem_info", [](int attribute) {
    size_t free = 0, total = 0;
    const int code = acl().aclrtGetMemInfo(aclrtMemAttr(attribute), &free, &total);
    return std::make_tuple(free, total, code);
  });
}

void add_streams(nb::module_& rt) {
  rt.def("create_stream", [] { return made([](void** stream) { return acl().aclrtCreateStream(stream); }); });
  rt.def(
      "destroy_stream", [](Handle stream) { return acl().aclrtDestroyStream(pointer(stream)); },
      WithoutGil());
  rt.def(
      "synchronize_stream", [](Handle stream) { return acl().aclrtSynchronizeStream(pointer(stream)); },
      WithoutGil());
  rt.def("create_event", [] {
    return made([](void** event) { return acl().aclrtCreateEventExWithFlag(event, ACL_EVENT_SYNC); });
  });
  rt.def("create_event_ex_with_flag", [](uint32_t flag) {
    return made([&](void** event) { return acl().aclrtCreateEventExWithFlag(event, flag); });
  });
  rt.def("destroy_event", [](Handle event) { return acl().aclrtDestroyEvent(pointer(event)); });
  rt.def("record_event",
         [](Handle event, Handle stream) { return acl().aclrtRecordEvent(pointer(event), pointer(stream)); });
  rt.def("query_event_status", [](Handle event) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    const int code = acl().aclrtQueryEventStatus(pointer(event), &status);
    return std::make_pair(int(status), code);
  });
  rt.def(
      "synchronize_event", [](Handle event) { return acl().aclrtSynchronizeEvent(pointer(event)); },
      WithoutGil());
  rt.def("stream_wait_event", [](Handle stream, Handle event) {
    return acl().aclrtStreamWaitEvent(pointer(stream), pointer(event));
  });
  rt.def("event_elapsed_time", [](Handle begin, Handle end) {
    float milliseconds = 0;
    const int code = acl().aclrtEventElapsedTime(&milliseconds, pointer(begin), pointer(end));
    return std::make_pair(milliseconds, code);
  });
}

void add_memory(nb::module_& rt) {
  rt.def("malloc", [](size_t size, int policy) {
    return made(
        [&](void** address) { return acl().aclrtMalloc(address, size, aclrtMemMallocPolicy(policy)); });
  });
  rt.def("free", [](Handle address) { return acl().aclrtFree(pointer(address)); });
  rt.def("malloc_host", [](size_t size) {
    return made([&](void** address) { return acl().aclrtMallocHost(address, size); });
  });
  rt.def("free_host", [](Handle address) { return acl().aclrtFreeHost(pointer(address)); });
  rt.def(
      "memcpy",
      [](Handle to, size_t capacity, Handle from, size_t count, int kind) {
        return acl().aclrtMemcpy(pointer(to), capacity, pointer(from), count, aclrtMemcpyKind(kind));
      },
      WithoutGil());
  rt.def(
      "memcpy_async",
      [](Handle to, size_t capacity, Handle from, size_t count, int kind, Handle stream) {
        return acl().aclrtMemcpyAsync(pointer(to), capacity, pointer(from), count, aclrtMemcpyKind(kind),
                                      pointer(stream));
      },
      WithoutGil());
  rt.def(
      "memset",
      [](Handle to, size_t capacity, int value, size_t count) {
        return acl().aclrtMemset(pointer(to), capacity, value, count);
      },
      WithoutGil());
  rt.def("memset_async", [](Handle to, size_t capacity, int value, size_t count, Handle stream) {
    return acl().aclrtMemsetAsync(pointer(to), capacity, value, count, pointer(stream));
  });
}

}  // namespace

void init_acl(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("_acl", "AscendCL in pyACL's shape.");
  m.def(
      "init",
      [](const std::optional<std::string>& config) {
        return acl().aclInit(config ? config->c_str() : nullptr);
      },
      "config"_a = nb::none());
  m.def("get_soc_name", [] { return std::string(acl().aclrtGetSocName()); });
  m.def("get_recent_err_msg", &recent_message);
  nb::module_ rt = m.def_submodule("rt", "Devices, streams, events and memory.");
  add_devices(rt);
  add_streams(rt);
  add_memory(rt);
}

}  // namespace mt::bindings
