// The CUDA driver's C interface, as far as it is used: types, numbers and a table of functions that is filled when the
// driver's library is opened. Nothing is linked, and no header of NVIDIA's is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mt::cuda {

using Result = int;  // CUresult; 0 is success
using DeviceNumber = int;
using DevicePointer = unsigned long long;
using Context = struct ContextOf*;
using Stream = struct StreamOf*;
using Event = struct EventOf*;
using Module = struct ModuleOf*;
using Function = struct FunctionOf*;
using Graph = struct GraphOf*;
using GraphExec = struct GraphExecOf*;
using MemoryObject = unsigned long long;

enum : Result {
  kNotInitialized = 3,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kNotReady = 600,
  kPeerAlreadyEnabled = 704,
};
enum : unsigned {
  kStreamNonBlocking = 1,
  kEventBlockingSync = 1,
  kEventDisableTiming = 2,
  kEventInterprocess = 4,
  kHostAllocPortable = 1,
};
enum DeviceAttribute : int {
  kMaxSharedPerBlock = 8,
  kWarpSize = 10,
  kClockRate = 13,
  kProcessors = 16,
  kPciBus = 33,
  kPciDevice = 34,
  kMemoryClock = 36,
  kMemoryBusWidth = 37,
  kL2Bytes = 38,
  kThreadsPerProcessor = 39,
  kPciDomain = 50,
  kIntegrated = 18,
  kMajor = 75,
  kMinor = 76,
  kSharedPerProcessor = 81,
  kRegistersPerProcessor = 82,
  kMultiGpuBoard = 84,
  kSharedOptIn = 97,
  kVirtualMemory = 102,
};
enum FunctionAttribute : int { kDynamicShared = 8 };
enum CaptureModeNumber : int { kCaptureGlobal = 0, kCaptureThread = 1, kCaptureRelaxed = 2 };
enum CaptureStatusNumber : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };

// Of virtual memory: what is allocated, and who may use it.
struct MemoryLocation {
  int type;  // 1: a device
  int id;
};
struct AllocationProperties {
  int type;           // 1: pinned
  int shared_handle;  // 0: none
  MemoryLocation location;
  void* windows;
  struct {
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};
struct AccessDescription {
  MemoryLocation location;
  int flags;  // 3: read and write
};
struct IpcHandle {
  char reserved[64];
};

// name in the table, name in the library, result, parameters
#define MT_CUDA_FUNCTIONS(X)                                                                                 \
  X(init, "cuInit", (unsigned flags))                                                                        \
  X(driver_version, "cuDriverGetVersion", (int* version))                                                    \
  X(error_name, "cuGetErrorName", (Result code, const char** text))                                          \
  X(error_text, "cuGetErrorString", (Result code, const char** text))                                        \
  X(device_count, "cuDeviceGetCount", (int* count))                                                          \
  X(device_get, "cuDeviceGet", (DeviceNumber * device, int ordinal))                                         \
  X(device_name, "cuDeviceGetName", (char* name, int length, DeviceNumber device))                           \
  X(device_uuid, "cuDeviceGetUuid_v2", (void* uuid, DeviceNumber device))                                    \
  X(device_attribute, "cuDeviceGetAttribute", (int* value, int attribute, DeviceNumber device))              \
  X(device_memory, "cuDeviceTotalMem_v2", (size_t* bytes, DeviceNumber device))                              \
  X(primary_context, "cuDevicePrimaryCtxRetain", (Context * context, DeviceNumber device))                   \
  X(set_context, "cuCtxSetCurrent", (Context context))                                                       \
  X(get_context, "cuCtxGetCurrent", (Context * context))                                                     \
  X(synchronize, "cuCtxSynchronize", ())                                                                     \
  X(priority_range, "cuCtxGetStreamPriorityRange", (int* least, int* greatest))                              \
  X(memory_info, "cuMemGetInfo_v2", (size_t* free, size_t* total))                                           \
  X(stream_create, "cuStreamCreateWithPriority", (Stream * stream, unsigned flags, int priority))            \
  X(stream_synchronize, "cuStreamSynchronize", (Stream stream))                                              \
  X(stream_query, "cuStreamQuery", (Stream stream))                                                          \
  X(stream_wait, "cuStreamWaitEvent", (Stream stream, Event event, unsigned flags))                          \
  X(event_create, "cuEventCreate", (Event * event, unsigned flags))                                          \
  X(event_destroy, "cuEventDestroy_v2", (Event event))                                                       \
  X(event_record, "cuEventRecord", (Event event, Stream stream))                                             \
  X(event_query, "cuEventQuery", (Event event))                                                              \
  X(event_synchronize, "cuEventSynchronize", (Event event))                                                  \
  X(event_elapsed, "cuEventElapsedTime", (float* ms, Event begin, Event end))                                \
  X(ipc_get_event, "cuIpcGetEventHandle", (IpcHandle * handle, Event event))                                 \
  X(ipc_open_event, "cuIpcOpenEventHandle", (Event * event, IpcHandle handle))                               \
  X(memory_alloc, "cuMemAlloc_v2", (DevicePointer * address, size_t bytes))                                  \
  X(memory_free, "cuMemFree_v2", (DevicePointer address))                                                    \
  X(host_alloc, "cuMemHostAlloc", (void** address, size_t bytes, unsigned flags))                            \
  X(host_free, "cuMemFreeHost", (void* address))                                                             \
  X(copy, "cuMemcpy", (DevicePointer to, DevicePointer from, size_t bytes))                                  \
  X(copy_async, "cuMemcpyAsync", (DevicePointer to, DevicePointer from, size_t bytes, Stream stream))        \
  X(set_async, "cuMemsetD8Async", (DevicePointer to, unsigned char value, size_t bytes, Stream stream))      \
  X(can_access_peer, "cuDeviceCanAccessPeer", (int* yes, DeviceNumber device, DeviceNumber peer))            \
  X(enable_peer, "cuCtxEnablePeerAccess", (Context peer, unsigned flags))                                    \
  X(granularity, "cuMemGetAllocationGranularity",                                                            \
    (size_t* bytes, const AllocationProperties* properties, int option))                                     \
  X(reserve, "cuMemAddressReserve",                                                                          \
    (DevicePointer * address, size_t bytes, size_t alignment, DevicePointer wanted,                          \
     unsigned long long flags))                                                                              \
  X(unreserve, "cuMemAddressFree", (DevicePointer address, size_t bytes))                                    \
  X(memory_create, "cuMemCreate",                                                                            \
    (MemoryObject * memory, size_t bytes, const AllocationProperties* properties, unsigned long long flags)) \
  X(memory_release, "cuMemRelease", (MemoryObject memory))                                                   \
  X(memory_map, "cuMemMap",                                                                                  \
    (DevicePointer address, size_t bytes, size_t offset, MemoryObject memory, unsigned long long flags))     \
  X(memory_unmap, "cuMemUnmap", (DevicePointer address, size_t bytes))                                       \
  X(memory_access, "cuMemSetAccess",                                                                         \
    (DevicePointer address, size_t bytes, const AccessDescription* descriptions, size_t count))              \
  X(module_load, "cuModuleLoadData", (Module * module, const void* image))                                   \
  X(module_function, "cuModuleGetFunction", (Function * function, Module module, const char* name))          \
  X(function_set, "cuFuncSetAttribute", (Function function, int attribute, int value))                       \
  X(launch, "cuLaunchKernel",                                                                                \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,                 \
     unsigned block_y, unsigned block_z, unsigned shared, Stream stream, void** arguments, void** extra))    \
  X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int* mode))                                 \
  X(begin_capture, "cuStreamBeginCapture_v2", (Stream stream, int mode))                                     \
  X(end_capture, "cuStreamEndCapture", (Stream stream, Graph * graph))                                       \
  X(capture_info, "cuStreamGetCaptureInfo_v2",                                                               \
    (Stream stream, int* status, unsigned long long* id, Graph* graph, const void* dependencies,             \
     size_t* count))                                                                                         \
  X(graph_instantiate, "cuGraphInstantiateWithFlags",                                                        \
    (GraphExec * made, Graph graph, unsigned long long flags))                                               \
  X(graph_launch, "cuGraphLaunch", (GraphExec graph, Stream stream))                                         \
  X(graph_exec_destroy, "cuGraphExecDestroy", (GraphExec graph))                                             \
  X(graph_destroy, "cuGraphDestroy", (Graph graph))                                                          \
  X(graph_print, "cuGraphDebugDotPrint", (Graph graph, const char* path, unsigned flags))

struct CudaApi {
#define X(name, symbol, parameters) Result(*name) parameters = nullptr;
  MT_CUDA_FUNCTIONS(X)
#undef X
};

// The driver's functions; throws where there is no driver. One load once it is open.
const CudaApi& cuda();
bool driver_is_there() noexcept;
// Another table instead, which lives for ever, before the first call (Note [Rehearsals] in rehearsal.h).
void replace_driver(const CudaApi* api);

// Throws DeviceError with the function, CUDA's name and text of the error, and what helps against it.
[[noreturn]] void fail_cuda(Result code, const char* function);
inline void check(Result code, const char* function) {
  if (code != 0) [[unlikely]]
    fail_cuda(code, function);
}

// While it lives, this thread may call what a capture refuses to others: memory for the pools, code of kernels, questions
// about events. None of it is work of the capture.
class BesideCapture {
 public:
  BesideCapture() { cuda().exchange_capture_mode(&mode_); }
  ~BesideCapture() { cuda().exchange_capture_mode(&mode_); }
  BesideCapture(const BesideCapture&) = delete;

 private:
  int mode_ = kCaptureRelaxed;  // what was set before, after the exchange
};

}  // namespace mt::cuda
