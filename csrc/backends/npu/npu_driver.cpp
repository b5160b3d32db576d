#include "backends/npu/npu_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/npu/acl_error.h"
#include "base/error.h"

namespace mt::npu {

using runtime::CaptureMode;
using runtime::CaptureState;
using runtime::CaptureStatus;
using runtime::CopyKind;
using runtime::GraphHandle;
using runtime::Mapping;
using runtime::RawMemory;

namespace {

constexpr int kPriorities = 8;  // of AscendCL, 0 is the highest
constexpr uint32_t kStreamFlags = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC;

void* pointer(uintptr_t handle) { return reinterpret_cast<void*>(handle); }

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value && std::strcmp(value, "0") != 0;
}

// Memory that there is no room for; any other failure is thrown. Without advice: what helps against a full device
// depends on the pools, which say it themselves.
RawMemory memory_or_reason(int code, const char* function, void* address, size_t bytes) {
  if (code == 0) return {Address(address), bytes, {}};
  return {0, 0, describe_acl_error(code, function, false)};
}

aclmdlRICaptureMode acl_mode(CaptureMode mode) {
  switch (mode) {
    case CaptureMode::global: return ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
    case CaptureMode::this_thread: return ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
    default: return ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
  }
}

aclrtMemcpyKind acl_kind(CopyKind kind) {
  switch (kind) {
    case CopyKind::host_to_device: return ACL_MEMCPY_HOST_TO_DEVICE;
    case CopyKind::device_to_host: return ACL_MEMCPY_DEVICE_TO_HOST;
    default: return ACL_MEMCPY_DEVICE_TO_DEVICE;
  }
}

}  // namespace

bool launch_blocking_asked() { return is_set("ACL_LAUNCH_BLOCKING") || is_set("ASCEND_LAUNCH_BLOCKING"); }

NpuDriver& driver() {
  static auto* made = new NpuDriver;  // never destroyed: tensors may be freed while the process ends
  return *made;
}

const runtime::DriverCalls& NpuDriver::calls() const {
  static const runtime::DriverCalls names{
      .copy = "aclrtMemcpy",
      .copy_async = "aclrtMemcpyAsync",
      .synchronize_device = "aclrtSynchronizeDevice",
      .synchronize_stream = "aclrtSynchronizeStream",
      .record_event = "aclrtRecordEvent",
      .synchronize_event = "aclrtSynchronizeEvent",
      .stream_wait_event = "aclrtStreamWaitEvent",
      .replay_graph = "aclmdlRIExecuteAsync",
  };
  return names;
}

// ---- devices ----

int NpuDriver::initialize() {
  if (load) load();
  std::lock_guard guard(mutex_);
  const int code = acl().aclInit(nullptr);
  if (code != ACL_ERROR_REPEAT_INITIALIZE) check(code, "aclInit");
  uint32_t count = 0;
  check(acl().aclrtGetDeviceCount(&count), "aclrtGetDeviceCount");
  MT_CHECK(count > 0, "No NPU was found: ", acl().loaded_from,
           " loads, but counts no device. Check npu-smi info, or "
           "set MINDTORCH_NPU=soft to use the software NPU.");
  npu().set_launch_blocking(launch_blocking_asked());
  return int(count);
}

StreamHandle NpuDriver::open(int device) {
  check(acl().aclrtSetDevice(device), "aclrtSetDevice");
  try {
    check(acl().aclrtGetCurrentContext(&contexts_[size_t(device)]), "aclrtGetCurrentContext");
    return create_stream(0);
  } catch (const Error&) {
    acl().aclrtResetDevice(device);  // aclrtSetDevice counts its calls; the next attempt makes its own
    throw;
  }
}

void NpuDriver::activate(int device) { check(acl().aclrtSetDevice(device), "aclrtSetDevice"); }
void NpuDriver::synchronize_device() { check(acl().aclrtSynchronizeDevice(), "aclrtSynchronizeDevice"); }

MemoryInfo NpuDriver::memory_info() {
  MemoryInfo info;
  check(acl().aclrtGetMemInfo(ACL_HBM_MEM, &info.free, &info.total), "aclrtGetMemInfo");
  return info;
}

bool NpuDriver::can_access_peer(int device, int peer) {
  int32_t possible = 0;
  check(acl().aclrtDeviceCanAccessPeer(&possible, device, peer), "aclrtDeviceCanAccessPeer");
  return possible != 0;
}

void NpuDriver::enable_peer_access(int peer) {
  check(acl().aclrtDeviceEnablePeerAccess(peer, 0), "aclrtDeviceEnablePeerAccess");
}

// ---- streams and events ----

StreamHandle NpuDriver::create_stream(int priority) {
  aclrtStream stream = nullptr;
  check(acl().aclrtCreateStreamWithConfig(&stream, uint32_t(std::clamp(priority, 0, kPriorities - 1)),
                                          kStreamFlags),
        "aclrtCreateStreamWithConfig");
  return StreamHandle(stream);
}

void NpuDriver::synchronize_stream(StreamHandle stream) {
  check(acl().aclrtSynchronizeStream(pointer(stream)), "aclrtSynchronizeStream");
}

bool NpuDriver::stream_is_idle(StreamHandle stream) {
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  check(acl().aclrtStreamQuery(pointer(stream), &status), "aclrtStreamQuery");
  return status == ACL_STREAM_STATUS_COMPLETE;
}

EventHandle NpuDriver::create_event(EventOptions options) {
  uint32_t flags = (options.cross_stream ? ACL_EVENT_SYNC : 0) | (options.timing ? ACL_EVENT_TIME_LINE : 0);
  if (!flags) flags = ACL_EVENT_SYNC;
  if (options.interprocess) flags = ACL_EVENT_IPC;  // and it can be nothing else
  aclrtEvent event = nullptr;
  check(acl().aclrtCreateEventExWithFlag(&event, flags), "aclrtCreateEventExWithFlag");
  return EventHandle(event);
}

void NpuDriver::destroy_event(EventHandle event) {
  check(acl().aclrtDestroyEvent(pointer(event)), "aclrtDestroyEvent");
}

void NpuDriver::record_event(EventHandle event, StreamHandle stream) {
  check(acl().aclrtRecordEvent(pointer(event), pointer(stream)), "aclrtRecordEvent");
}

bool NpuDriver::event_is_complete(EventHandle event) {
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  check(acl().aclrtQueryEventStatus(pointer(event), &status), "aclrtQueryEventStatus");
  return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

void NpuDriver::synchronize_event(EventHandle event) {
  check(acl().aclrtSynchronizeEvent(pointer(event)), "aclrtSynchronizeEvent");
}

void NpuDriver::make_stream_wait(StreamHandle stream, EventHandle event) {
  check(acl().aclrtStreamWaitEvent(pointer(stream), pointer(event)), "aclrtStreamWaitEvent");
}

float NpuDriver::elapsed_ms(EventHandle begin, EventHandle end) {
  float milliseconds = 0;
  check(acl().aclrtEventElapsedTime(&milliseconds, pointer(begin), pointer(end)), "aclrtEventElapsedTime");
  return milliseconds;
}

int64_t NpuDriver::event_time_us(EventHandle event) {
  uint64_t time = 0;
  check(acl().aclrtEventGetTimestamp(pointer(event), &time), "aclrtEventGetTimestamp");
  return int64_t(time);
}

std::string NpuDriver::export_event(EventHandle event) {
  MT_CHECK_AS(not_implemented, acl().aclrtIpcGetEventHandle,
              "this AscendCL cannot share events between processes");
  aclrtIpcEventHandle shared{};
  check(acl().aclrtIpcGetEventHandle(pointer(event), &shared), "aclrtIpcGetEventHandle");
  return {shared.reserved, sizeof shared.reserved};
}

EventHandle NpuDriver::import_event(const std::string& bytes) {
  MT_CHECK_AS(not_implemented, acl().aclrtIpcOpenEventHandle,
              "this AscendCL cannot share events between processes");
  aclrtIpcEventHandle shared{};
  MT_CHECK_AS(value, bytes.size() == sizeof shared.reserved, "the handle of an event has ",
              sizeof shared.reserved, " bytes, but this one has ", bytes.size());
  std::memcpy(shared.reserved, bytes.data(), bytes.size());
  aclrtEvent event = nullptr;
  check(acl().aclrtIpcOpenEventHandle(shared, &event), "aclrtIpcOpenEventHandle");
  return EventHandle(event);
}

// ---- memory ----

RawMemory NpuDriver::allocate(size_t bytes) {
  void* address = nullptr;
  const int code = acl().aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  return memory_or_reason(code, "aclrtMalloc", address, bytes);
}

void NpuDriver::free(Address address) { check(acl().aclrtFree(pointer(address)), "aclrtFree"); }

RawMemory NpuDriver::allocate_pinned(size_t bytes) {
  void* address = nullptr;
  const int code = acl().aclrtMallocHost(&address, bytes);
  return memory_or_reason(code, "aclrtMallocHost", address, bytes);
}

void NpuDriver::free_pinned(Address address) {
  check(acl().aclrtFreeHost(pointer(address)), "aclrtFreeHost");
}

bool NpuDriver::has_virtual_memory() {
  const AclApi& api = acl();
  return api.aclrtReserveMemAddress && api.aclrtReleaseMemAddress && api.aclrtMallocPhysical &&
         api.aclrtFreePhysical && api.aclrtMapMem && api.aclrtUnmapMem;
}

Address NpuDriver::reserve(size_t bytes) {
  MT_CHECK_AS(not_implemented, has_virtual_memory(), "this AscendCL has no virtual memory management");
  void* address = nullptr;
  constexpr uint64_t kHugePages = 1;
  check(acl().aclrtReserveMemAddress(&address, bytes, 0, nullptr, kHugePages), "aclrtReserveMemAddress");
  return Address(address);
}

void NpuDriver::unreserve(Address address) {
  check(acl().aclrtReleaseMemAddress(pointer(address)), "aclrtReleaseMemAddress");
}

Mapping NpuDriver::map(int device, Address address, size_t bytes) {
  aclrtPhysicalMemProp kind{};
  kind.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  kind.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  kind.memAttr = ACL_HBM_MEM_HUGE;
  kind.location.id = uint32_t(device);
  kind.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle memory = nullptr;
  int code = acl().aclrtMallocPhysical(&memory, bytes, &kind, 0);
  if (code != 0) return {0, describe_acl_error(code, "aclrtMallocPhysical", false)};
  code = acl().aclrtMapMem(pointer(address), bytes, 0, memory, 0);
  if (code != 0) {
    acl().aclrtFreePhysical(memory);
    return {0, describe_acl_error(code, "aclrtMapMem", false)};
  }
  return {MappingHandle(memory), {}};
}

void NpuDriver::unmap(Address address, MappingHandle memory) {
  const int unmapped = acl().aclrtUnmapMem(pointer(address));
  const int freed = acl().aclrtFreePhysical(pointer(memory));
  check(unmapped, "aclrtUnmapMem");
  check(freed, "aclrtFreePhysical");
}

// The software NPU's sanitizer knows allocations; the pieces we hand out of them it must be told.
runtime::MemoryMarks NpuDriver::memory_marks() {
  if (!acl_is_loaded()) return {};
  const auto sanitizing = reinterpret_cast<int (*)()>(find_symbol("softnpu_sanitizing"));
  if (!sanitizing || !sanitizing()) return {};
  runtime::MemoryMarks marks;
  marks.used = reinterpret_cast<decltype(marks.used)>(find_symbol("softnpu_mark_used"));
  marks.free = reinterpret_cast<decltype(marks.free)>(find_symbol("softnpu_mark_free"));
  return marks;
}

void NpuDriver::copy(Address to, Address from, size_t bytes, CopyKind kind) {
  check(acl().aclrtMemcpy(pointer(to), bytes, pointer(from), bytes, acl_kind(kind)), "aclrtMemcpy");
}

void NpuDriver::copy_async(Address to, Address from, size_t bytes, CopyKind kind, StreamHandle stream) {
  check(acl().aclrtMemcpyAsync(pointer(to), bytes, pointer(from), bytes, acl_kind(kind), pointer(stream)),
        "aclrtMemcpyAsync");
}

// ---- graphs ----

bool NpuDriver::has_graphs() {
  const AclApi& api = acl();
  return api.aclmdlRICaptureBegin && api.aclmdlRICaptureEnd && api.aclmdlRICaptureGetInfo &&
         api.aclmdlRIExecuteAsync && api.aclmdlRIDestroy;
}

void NpuDriver::begin_capture(StreamHandle stream, CaptureMode mode) {
  MT_CHECK_AS(not_implemented, has_graphs(), "this AscendCL cannot capture graphs; CANN 8.1 and newer can");
  check(acl().aclmdlRICaptureBegin(pointer(stream), acl_mode(mode)), "aclmdlRICaptureBegin");
}

GraphHandle NpuDriver::end_capture(StreamHandle stream) {
  aclmdlRI graph = nullptr;
  check(acl().aclmdlRICaptureEnd(pointer(stream), &graph), "aclmdlRICaptureEnd");
  return GraphHandle(graph);
}

CaptureState NpuDriver::capture_state(StreamHandle stream) {
  if (!has_graphs()) return {};
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  aclmdlRI graph = nullptr;
  check(acl().aclmdlRICaptureGetInfo(pointer(stream), &status, &graph), "aclmdlRICaptureGetInfo");
  switch (status) {
    case ACL_MODEL_RI_CAPTURE_STATUS_NONE: return {};
    case ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE: return {CaptureStatus::active, uintptr_t(graph)};
    default: return {CaptureStatus::invalidated, uintptr_t(graph)};
  }
}

void NpuDriver::replay_graph(GraphHandle graph, StreamHandle stream) {
  check(acl().aclmdlRIExecuteAsync(pointer(graph), pointer(stream)), "aclmdlRIExecuteAsync");
}

void NpuDriver::destroy_graph(GraphHandle graph) {
  check(acl().aclmdlRIDestroy(pointer(graph)), "aclmdlRIDestroy");
}

void NpuDriver::describe_graph(GraphHandle graph, const std::string& path) {
  MT_CHECK_AS(not_implemented, acl().aclmdlRIDebugJsonPrint, "this AscendCL cannot write graphs to files");
  check(acl().aclmdlRIDebugJsonPrint(pointer(graph), path.c_str(), ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE),
        "aclmdlRIDebugJsonPrint");
}

}  // namespace mt::npu
