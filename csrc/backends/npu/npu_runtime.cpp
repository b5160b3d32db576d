#include "backends/npu/npu_runtime.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "backends/npu/launch_log.h"
#include "base/error.h"
#include "base/per_thread.h"
#include "core/observe_task.h"
#include "core/warn.h"

namespace mt::npu {

bool g_launch_blocking = false;
std::atomic<SyncDebugMode> g_sync_debug_mode{SyncDebugMode::off};
std::array<std::atomic<void*>, kMaxDevices> g_default_streams{};

namespace {

HostHooks g_hooks;
std::atomic<bool> g_forked{false};

// Current streams of the devices that are not current on this thread; the current one's is in ThreadState.
constinit PerThread<std::array<void*, kMaxDevices>> t_parked;

void*& parked_stream(int device) { return (*t_parked)[size_t(device)]; }

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value && std::strcmp(value, "0") != 0;
}

// The threads of the streams and the driver's state do not survive a fork.
void after_fork() {
  if (!npu().is_initialized()) return;
  g_forked = true;
  thread_state().active_npu = -1;
}

}  // namespace

bool launch_blocking_asked() { return is_set("ACL_LAUNCH_BLOCKING") || is_set("ASCEND_LAUNCH_BLOCKING"); }

void set_host_hooks(HostHooks hooks) { g_hooks = hooks; }
const HostHooks& host_hooks() { return g_hooks; }

NpuRuntime& npu() {
  static auto* runtime = new NpuRuntime;  // never destroyed: tensors may be freed while the process ends
  return *runtime;
}

bool NpuRuntime::is_in_bad_fork() const { return g_forked; }

void NpuRuntime::initialize() {
  if (is_initialized()) [[likely]] {
    MT_CHECK(!g_forked,
             "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you must use "
             "the 'spawn' start method");
    return;
  }
  // Python may need its lock for this, so ours is taken afterwards.
  if (g_hooks.prepare) g_hooks.prepare();
  std::lock_guard<std::mutex> guard(mutex_);
  if (initialized_) return;
  const int code = acl().aclInit(nullptr);
  if (code != ACL_ERROR_REPEAT_INITIALIZE) check(code, "aclInit");
  uint32_t count = 0;
  check(acl().aclrtGetDeviceCount(&count), "aclrtGetDeviceCount");
  MT_CHECK(count > 0, "No NPU was found: ", acl().loaded_from,
           " loads, but counts no device. Check npu-smi info, or "
           "set MINDTORCH_NPU=soft to use the software NPU.");
  count_ = int(std::min<uint32_t>(count, kMaxDevices));
  g_launch_blocking = launch_blocking_asked();
  pthread_atfork(nullptr, nullptr, after_fork);
  initialized_.store(true, std::memory_order_release);
}

void NpuRuntime::open(int device) {
  initialize();
  MT_CHECK(device >= 0 && device < count_, "Invalid NPU device index ", device, ": there ",
           count_ == 1 ? "is 1 device" : join_text("are ", int(count_), " devices"), ".");
  if (is_open(device)) return;
  std::lock_guard<std::mutex> guard(mutex_);
  if (is_open(device)) return;
  const int previous = thread_state().active_npu;
  check(acl().aclrtSetDevice(device), "aclrtSetDevice");
  thread_state().active_npu = device;
  try {
    check(acl().aclrtGetCurrentContext(&contexts_[device]), "aclrtGetCurrentContext");
    aclrtStream stream = nullptr;
    check(acl().aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC),
          "aclrtCreateStreamWithConfig");
    g_default_streams[size_t(device)].store(stream, std::memory_order_release);
  } catch (const Error&) {
    // aclrtSetDevice counts its calls; the next attempt makes its own.
    acl().aclrtResetDevice(device);
    thread_state().active_npu = -1;
    if (previous >= 0 && acl().aclrtSetDevice(previous) == 0) thread_state().active_npu = previous;
    throw;
  }
}

void activate_slowly(int device) {
  NpuRuntime& runtime = npu();
  runtime.open(device);
  if (thread_state().active_npu == device) return;
  check(acl().aclrtSetDevice(device), "aclrtSetDevice");
  thread_state().active_npu = device;
}

void forget_active_device() { thread_state().active_npu = -1; }

void* current_stream_slowly(int device) {
  npu().open(device);
  if (device != thread_state().current_npu)
    if (void* stream = parked_stream(device)) return stream;
  return npu().default_stream_handle(device);
}

void set_current_stream(int device, void* stream) {
  if (stream == npu().default_stream_handle(device)) stream = nullptr;
  ThreadState& state = thread_state();
  (device == state.current_npu ? state.npu_stream : parked_stream(device)) = stream;
}

runtime::CachingAllocator& allocator(int device) {
  static runtime::AllocatorRegistry& registry = runtime::allocators("npu");
  return registry.at(device);
}

int NpuRuntime::device_count() {
  initialize();
  return count_;
}

int NpuRuntime::current_device() { return thread_state().current_npu; }

void NpuRuntime::set_device(int device) {
  activate(device);
  ThreadState& state = thread_state();
  if (device == state.current_npu) return;
  parked_stream(state.current_npu) = state.npu_stream;
  state.npu_stream = parked_stream(device);
  state.current_npu = device;
}

void report_wait() {
  switch (g_sync_debug_mode.load(std::memory_order_relaxed)) {
    case SyncDebugMode::off: return;
    case SyncDebugMode::warn: return warn("called a synchronizing NPU operation");
    case SyncDebugMode::error: fail(ErrorKind::runtime, "called a synchronizing NPU operation");
  }
}

void NpuRuntime::synchronize_device(int device) {
  activate(device);
  TaskScope scope({TaskKind::device_sync, "aclrtSynchronizeDevice", "Context Sync", device});
  check(acl().aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
  note_waited(nullptr);
}

runtime::MemoryInfo NpuRuntime::memory_info(int device) {
  activate(device);
  runtime::MemoryInfo info;
  check(acl().aclrtGetMemInfo(ACL_HBM_MEM, &info.free, &info.total), "aclrtGetMemInfo");
  return info;
}

runtime::Address NpuRuntime::allocate(int device, size_t bytes) {
  activate(device);
  void* address = nullptr;
  const int code = acl().aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  if (code == ACL_ERROR_RT_MEMORY_ALLOCATION) return 0;
  check(code, "aclrtMalloc");
  return runtime::Address(address);
}

void NpuRuntime::free(int device, runtime::Address address) {
  activate(device);
  check(acl().aclrtFree(reinterpret_cast<void*>(address)), "aclrtFree");
}

runtime::Address NpuRuntime::allocate_pinned(size_t bytes) {
  activate(current_device());
  void* address = nullptr;
  const int code = acl().aclrtMallocHost(&address, bytes);
  if (code == ACL_ERROR_RT_MEMORY_ALLOCATION || code == ACL_ERROR_BAD_ALLOC) return 0;
  check(code, "aclrtMallocHost");
  return runtime::Address(address);
}

void NpuRuntime::free_pinned(runtime::Address address) {
  activate(current_device());
  check(acl().aclrtFreeHost(reinterpret_cast<void*>(address)), "aclrtFreeHost");
}

namespace {
// What the profiler calls it.
const char* copy_name(runtime::CopyKind kind) {
  switch (kind) {
    case runtime::CopyKind::host_to_device: return "Memcpy HtoD (Pinned -> Device)";
    case runtime::CopyKind::device_to_host: return "Memcpy DtoH (Device -> Pinned)";
    case runtime::CopyKind::device_to_device: return "Memcpy DtoD (Device -> Device)";
    default: return "Memcpy HtoH (Pinned -> Pinned)";
  }
}

aclrtMemcpyKind acl_kind(runtime::CopyKind kind) {
  switch (kind) {
    case runtime::CopyKind::host_to_device: return ACL_MEMCPY_HOST_TO_DEVICE;
    case runtime::CopyKind::device_to_host: return ACL_MEMCPY_DEVICE_TO_HOST;
    case runtime::CopyKind::device_to_device: return ACL_MEMCPY_DEVICE_TO_DEVICE;
    default: return ACL_MEMCPY_HOST_TO_HOST;
  }
}
}  // namespace

void NpuRuntime::copy(runtime::Address to, runtime::Address from, size_t bytes, runtime::CopyKind kind) {
  activate(current_device());
  check(acl().aclrtMemcpy(reinterpret_cast<void*>(to), bytes, reinterpret_cast<void*>(from), bytes,
                          acl_kind(kind)),
        "aclrtMemcpy");
}

void NpuRuntime::copy_async(runtime::Address to, runtime::Address from, size_t bytes, runtime::CopyKind kind,
                            const runtime::Stream& stream) {
  activate(stream.device);
  TaskScope scope({.kind = TaskKind::copy,
                   .call = "aclrtMemcpyAsync",
                   .name = copy_name(kind),
                   .device = stream.device,
                   .stream = reinterpret_cast<void*>(stream.handle),
                   .bytes = int64_t(bytes)});
  check(acl().aclrtMemcpyAsync(reinterpret_cast<void*>(to), bytes, reinterpret_cast<void*>(from), bytes,
                               acl_kind(kind), reinterpret_cast<void*>(stream.handle)),
        "aclrtMemcpyAsync");
}

void NpuRuntime::fill_async(runtime::Address to, uint8_t value, size_t bytes, const runtime::Stream& stream) {
  activate(stream.device);
  TaskScope scope({.kind = TaskKind::fill,
                   .call = "aclrtMemsetAsync",
                   .name = "Memset (Device)",
                   .device = stream.device,
                   .stream = reinterpret_cast<void*>(stream.handle),
                   .bytes = int64_t(bytes)});
  check(acl().aclrtMemsetAsync(reinterpret_cast<void*>(to), bytes, value, bytes,
                               reinterpret_cast<void*>(stream.handle)),
        "aclrtMemsetAsync");
}

}  // namespace mt::npu
