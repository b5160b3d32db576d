#include "backends/cuda/cuda_driver.h"

#include <cstdlib>
#include <cstring>

#include "backends/cuda/launch.h"
#include "backends/cuda/launch_queue.h"
#include "base/error.h"

namespace mt::cuda {

using runtime::CaptureMode;
using runtime::CaptureState;
using runtime::CaptureStatus;
using runtime::CopyKind;
using runtime::GraphHandle;
using runtime::Mapping;
using runtime::RawMemory;

namespace {

Stream stream_of(StreamHandle handle) { return reinterpret_cast<Stream>(handle); }
Event event_of(EventHandle handle) { return reinterpret_cast<Event>(handle); }

std::string reason(Result code, const char* function) {
  const char* text = nullptr;
  cuda().error_text(code, &text);
  return join_text(function, " failed: ", code, " (", text ? text : "unknown error", ")");
}

// Memory that there is no room for is told; the pools say what helps. A device in a bad state refuses everything,
// which is an error like any other.
RawMemory memory_or_reason(Result code, const char* function, Address address, size_t bytes) {
  if (code == 0) return {address, bytes, {}};
  if (code != kOutOfMemory) fail_cuda(code, function);
  return {0, 0, reason(code, function)};
}

AllocationProperties on_device(int device) {
  AllocationProperties properties{};
  properties.type = 1;
  properties.location = {1, device};
  return properties;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value && std::strcmp(value, "0") != 0;
}

// A captured graph, and what runs it. CUDA has the two apart.
struct Captured {
  Graph graph;
  GraphExec runnable;
};
Captured& captured(GraphHandle handle) { return *reinterpret_cast<Captured*>(handle); }

// Of the device that the next call acts on.
void hand_over() { hand_over_launches(gpu().active_device()); }
// Before memory goes back that queued launches have.
void wait_for_launches() noexcept {
  if (const int device = gpu().active_device(); device >= 0) launch_queue(device).wait();
}

}  // namespace

CudaDriver& driver() {
  static auto* made = new CudaDriver;  // never destroyed: tensors may be freed while the process ends
  return *made;
}

const runtime::DriverCalls& CudaDriver::calls() const {
  static const runtime::DriverCalls names{
      .copy = "cudaMemcpy",
      .copy_async = "cudaMemcpyAsync",
      .synchronize_device = "cudaDeviceSynchronize",
      .synchronize_stream = "cudaStreamSynchronize",
      .record_event = "cudaEventRecord",
      .synchronize_event = "cudaEventSynchronize",
      .stream_wait_event = "cudaStreamWaitEvent",
      .replay_graph = "cudaGraphLaunch",
  };
  return names;
}

// ---- devices ----

int CudaDriver::initialize() {
  check(cuda().init(0), "cuInit");
  int count = 0;
  check(cuda().device_count(&count), "cuDeviceGetCount");
  MT_CHECK(count > 0,
           "No CUDA GPUs are available: the driver counts no device. Check nvidia-smi, and "
           "CUDA_VISIBLE_DEVICES.");
  gpu().set_launch_blocking(is_set("CUDA_LAUNCH_BLOCKING"));
  return count;
}

StreamHandle CudaDriver::open(int device) {
  DeviceNumber number = 0;
  check(cuda().device_get(&number, device), "cuDeviceGet");
  Context context = nullptr;
  check(cuda().primary_context(&context, number), "cuDevicePrimaryCtxRetain");
  {
    std::lock_guard guard(mutex_);
    contexts_[size_t(device)] = context;
  }
  check(cuda().set_context(context), "cuCtxSetCurrent");
  // In order with CUDA's own default stream, where libraries beside this one work.
  Stream stream = nullptr;
  check(cuda().stream_create(&stream, 0, 0), "cuStreamCreateWithPriority");
  check(cuda().event_create(&starts_[size_t(device)], 0), "cuEventCreate");
  check(cuda().event_record(starts_[size_t(device)], stream), "cuEventRecord");
  return StreamHandle(stream);
}

void CudaDriver::activate(int device) {
  check(cuda().set_context(contexts_[size_t(device)]), "cuCtxSetCurrent");
}

void CudaDriver::synchronize_device() {
  hand_over();
  check(cuda().synchronize(), "cuCtxSynchronize");
}

MemoryInfo CudaDriver::memory_info() {
  MemoryInfo info;
  check(cuda().memory_info(&info.free, &info.total), "cuMemGetInfo");
  return info;
}

int CudaDriver::attribute(int device, DeviceAttribute which) {
  int value = 0;
  check(cuda().device_attribute(&value, which, device), "cuDeviceGetAttribute");
  return value;
}

std::string CudaDriver::name(int device) {
  char text[256] = {};
  check(cuda().device_name(text, sizeof text, device), "cuDeviceGetName");
  return text;
}

std::string CudaDriver::uuid(int device) {
  char bytes[16] = {};
  check(cuda().device_uuid(bytes, device), "cuDeviceGetUuid");
  return {bytes, sizeof bytes};
}

size_t CudaDriver::total_memory(int device) {
  size_t bytes = 0;
  check(cuda().device_memory(&bytes, device), "cuDeviceTotalMem");
  return bytes;
}

bool CudaDriver::can_access_peer(int device, int peer) {
  int possible = 0;
  check(cuda().can_access_peer(&possible, device, peer), "cuDeviceCanAccessPeer");
  return possible != 0;
}

void CudaDriver::enable_peer_access(int peer) {
  const Result code = cuda().enable_peer(contexts_[size_t(peer)], 0);
  if (code != kPeerAlreadyEnabled) check(code, "cuCtxEnablePeerAccess");
}

// ---- streams and events ----

StreamHandle CudaDriver::create_stream(int priority) {
  Stream stream = nullptr;
  check(cuda().stream_create(&stream, kStreamNonBlocking, priority), "cuStreamCreateWithPriority");
  return StreamHandle(stream);
}

void CudaDriver::synchronize_stream(StreamHandle stream) {
  hand_over();
  check(cuda().stream_synchronize(stream_of(stream)), "cuStreamSynchronize");
}

bool CudaDriver::stream_is_idle(StreamHandle stream) {
  hand_over();
  const Result code = cuda().stream_query(stream_of(stream));
  if (code == kNotReady) return false;
  check(code, "cuStreamQuery");
  return true;
}

EventHandle CudaDriver::create_event(EventOptions options) {
  const BesideCapture beside;
  unsigned flags = options.timing ? 0u : unsigned(kEventDisableTiming);
  if (options.interprocess) flags = kEventInterprocess | kEventDisableTiming;
  Event event = nullptr;
  check(cuda().event_create(&event, flags), "cuEventCreate");
  return EventHandle(event);
}

void CudaDriver::destroy_event(EventHandle event) {
  check(cuda().event_destroy(event_of(event)), "cuEventDestroy");
}

void CudaDriver::record_event(EventHandle event, StreamHandle stream) {
  hand_over();
  check(cuda().event_record(event_of(event), stream_of(stream)), "cuEventRecord");
}

bool CudaDriver::event_is_complete(EventHandle event) {
  const BesideCapture beside;
  const Result code = cuda().event_query(event_of(event));
  if (code == kNotReady) return false;
  check(code, "cuEventQuery");
  return true;
}

void CudaDriver::synchronize_event(EventHandle event) {
  check(cuda().event_synchronize(event_of(event)), "cuEventSynchronize");
}

void CudaDriver::make_stream_wait(StreamHandle stream, EventHandle event) {
  hand_over();
  check(cuda().stream_wait(stream_of(stream), event_of(event), 0), "cuStreamWaitEvent");
}

float CudaDriver::elapsed_ms(EventHandle begin, EventHandle end) {
  float milliseconds = 0;
  check(cuda().event_elapsed(&milliseconds, event_of(begin), event_of(end)), "cuEventElapsedTime");
  return milliseconds;
}

int64_t CudaDriver::event_time_us(EventHandle event) {
  const int device = gpu().active_device();
  float milliseconds = 0;
  check(cuda().event_elapsed(&milliseconds, starts_[size_t(device)], event_of(event)), "cuEventElapsedTime");
  return int64_t(double(milliseconds) * 1000.0);
}

std::string CudaDriver::export_event(EventHandle event) {
  IpcHandle shared{};
  check(cuda().ipc_get_event(&shared, event_of(event)), "cuIpcGetEventHandle");
  return {shared.reserved, sizeof shared.reserved};
}

EventHandle CudaDriver::import_event(const std::string& bytes) {
  IpcHandle shared{};
  MT_CHECK_AS(value, bytes.size() == sizeof shared.reserved, "the handle of an event has ",
              sizeof shared.reserved, " bytes, but this one has ", bytes.size());
  std::memcpy(shared.reserved, bytes.data(), bytes.size());
  Event event = nullptr;
  check(cuda().ipc_open_event(&event, shared), "cuIpcOpenEventHandle");
  return EventHandle(event);
}

// ---- memory ----

RawMemory CudaDriver::allocate(size_t bytes) {
  const BesideCapture beside;
  DevicePointer address = 0;
  const Result code = cuda().memory_alloc(&address, bytes);
  return memory_or_reason(code, "cuMemAlloc", Address(address), bytes);
}

void CudaDriver::free(Address address) {
  wait_for_launches();
  const BesideCapture beside;
  check(cuda().memory_free(address), "cuMemFree");
}

RawMemory CudaDriver::allocate_pinned(size_t bytes) {
  const BesideCapture beside;
  void* address = nullptr;
  const Result code = cuda().host_alloc(&address, bytes, kHostAllocPortable);
  return memory_or_reason(code, "cuMemHostAlloc", Address(address), bytes);
}

void CudaDriver::free_pinned(Address address) {
  check(cuda().host_free(reinterpret_cast<void*>(address)), "cuMemFreeHost");
}

size_t CudaDriver::take_bytes(std::unordered_map<Address, size_t>& from, Address address, const char* what) {
  std::lock_guard guard(mutex_);
  const auto found = from.find(address);
  MT_CHECK(found != from.end(), what, ": nothing begins at address ", address);
  const size_t bytes = found->second;
  from.erase(found);
  return bytes;
}

Address CudaDriver::reserve(size_t bytes) {
  const BesideCapture beside;
  DevicePointer address = 0;
  check(cuda().reserve(&address, bytes, 0, 0, 0), "cuMemAddressReserve");
  std::lock_guard guard(mutex_);
  reserved_[Address(address)] = bytes;
  return Address(address);
}

void CudaDriver::unreserve(Address address) {
  check(cuda().unreserve(address, take_bytes(reserved_, address, "cuMemAddressFree")), "cuMemAddressFree");
}

Mapping CudaDriver::map(int device, Address address, size_t bytes) {
  const BesideCapture beside;
  const AllocationProperties properties = on_device(device);
  MemoryObject memory = 0;
  Result code = cuda().memory_create(&memory, bytes, &properties, 0);
  if (code != 0) return {0, reason(code, "cuMemCreate")};
  code = cuda().memory_map(address, bytes, 0, memory, 0);
  if (code != 0) {
    cuda().memory_release(memory);
    return {0, reason(code, "cuMemMap")};
  }
  const AccessDescription access{{1, device}, 3};
  code = cuda().memory_access(address, bytes, &access, 1);
  if (code != 0) {
    cuda().memory_unmap(address, bytes);
    cuda().memory_release(memory);
    return {0, reason(code, "cuMemSetAccess")};
  }
  std::lock_guard guard(mutex_);
  mapped_[address] = bytes;
  return {MappingHandle(memory), {}};
}

void CudaDriver::unmap(Address address, MappingHandle memory) {
  wait_for_launches();
  const BesideCapture beside;
  const Result unmapped = cuda().memory_unmap(address, take_bytes(mapped_, address, "cuMemUnmap"));
  const Result freed = cuda().memory_release(memory);
  check(unmapped, "cuMemUnmap");
  check(freed, "cuMemRelease");
}

// Addresses say by themselves on which side they are.
void CudaDriver::copy(Address to, Address from, size_t bytes, CopyKind) {
  hand_over();
  check(cuda().copy(to, from, bytes), "cuMemcpy");
}

void CudaDriver::copy_async(Address to, Address from, size_t bytes, CopyKind, StreamHandle stream) {
  hand_over();
  check(cuda().copy_async(to, from, bytes, stream_of(stream)), "cuMemcpyAsync");
}

// ---- graphs ----

void CudaDriver::begin_capture(StreamHandle stream, CaptureMode mode) {
  const int number = mode == CaptureMode::global        ? kCaptureGlobal
                     : mode == CaptureMode::this_thread ? kCaptureThread
                                                        : kCaptureRelaxed;
  hand_over();
  check(cuda().begin_capture(stream_of(stream), number), "cuStreamBeginCapture");
}

GraphHandle CudaDriver::end_capture(StreamHandle stream) {
  hand_over();
  Graph graph = nullptr;
  check(cuda().end_capture(stream_of(stream), &graph), "cuStreamEndCapture");
  GraphExec runnable = nullptr;
  const Result code = cuda().graph_instantiate(&runnable, graph, 0);
  if (code != 0) {
    cuda().graph_destroy(graph);
    fail_cuda(code, "cuGraphInstantiate");
  }
  return GraphHandle(new Captured{graph, runnable});
}

CaptureState CudaDriver::capture_state(StreamHandle stream) {
  int status = kCaptureNone;
  unsigned long long id = 0;
  check(cuda().capture_info(stream_of(stream), &status, &id, nullptr, nullptr, nullptr),
        "cuStreamGetCaptureInfo");
  switch (status) {
    case kCaptureNone: return {};
    case kCaptureActive: return {CaptureStatus::active, uintptr_t(id)};
    default: return {CaptureStatus::invalidated, uintptr_t(id)};
  }
}

void CudaDriver::replay_graph(GraphHandle graph, StreamHandle stream) {
  hand_over();
  check(cuda().graph_launch(captured(graph).runnable, stream_of(stream)), "cuGraphLaunch");
}

void CudaDriver::destroy_graph(GraphHandle graph) {
  const Captured had = captured(graph);
  delete &captured(graph);
  check(cuda().graph_exec_destroy(had.runnable), "cuGraphExecDestroy");
  check(cuda().graph_destroy(had.graph), "cuGraphDestroy");
}

void CudaDriver::describe_graph(GraphHandle graph, const std::string& path) {
  constexpr unsigned kVerbose = 1;
  check(cuda().graph_print(captured(graph).graph, path.c_str(), kVerbose), "cuGraphDebugDotPrint");
}

}  // namespace mt::cuda
