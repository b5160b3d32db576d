// Devices, contexts, and what is current in a thread.
#pragma once

#include <atomic>
#include <bitset>
#include <mutex>
#include <set>

#include "acl_abi.h"
#include "runtime/config.h"
#include "runtime/device_memory.h"
#include "runtime/slot_table.h"
#include "runtime/stream.h"
#include "runtime/virtual_memory.h"

namespace softnpu {

inline constexpr int kSysParamOptions = ACL_OPT_ENABLE_KERNEL_EARLY_START + 1;
inline constexpr int64_t kOptionNotSet = INT64_MIN;

struct Context {
  Context(int device_index, bool is_primary) : device(device_index), primary(is_primary) {
    for (auto& option : options) option.store(kOptionNotSet);
  }

  int device;
  bool primary;  // made by aclrtSetDevice
  void* handle = nullptr;
  void* default_stream_handle = nullptr;
  // After a failure in a context with a stream that stops at failures (aclrtSetStreamFailureMode), no task runs
  // any more; the code is what every synchronisation returns.
  std::atomic<bool> stops_on_failure{false};
  std::atomic<int> stopped_by{0};
  std::atomic<int64_t> options[kSysParamOptions];  // aclrtCtxSetSysParamOpt; kOptionNotSet where never called
  std::mutex mutex;                                // guards streams
  std::set<void*> streams;  // handles of the streams created in it, the default stream excepted
};

struct Device {
  DeviceMemory memory;
  VirtualAddresses addresses;
  int references = 0;  // aclrtSetDevice minus aclrtResetDevice; guarded by devices_mutex
  Context* primary = nullptr;
  std::atomic<uint32_t> core_limits[2] = {0, 0};  // aclrtSetDeviceResLimit, by type; 0: the hardware's
  std::atomic<int32_t> saturation{ACL_RT_OVERFLOW_MODE_INFNAN};
  std::atomic<uint64_t> peers{0};  // bit n: copies to and from device n are enabled
};

// The table of devices. Opens it (reads the configuration, reserves addresses) on first use.
SOFTNPU_SHARED Device& device(int index);
// 0, or the recorded error code when the device cannot be used.
int open_device(const char* function, int index);
bool devices_open();

using ContextTable = SlotTable<Context, 4096>;
ContextTable& context_table();

// The current context of the calling thread; nullptr with ACL_ERROR_RT_CONTEXT_NULL recorded when there is
// none.
Context* current_context(const char* function);
// The current device, or -1 with the error recorded.
int current_device(const char* function);

// The current device, or -1 without an error.
int device_or_none();

// The stream of a handle (NULL: the default stream) if the calling thread may use it now; else nullptr and
// *code.
SOFTNPU_SHARED Stream* use_stream(const char* function, aclrtStream handle, int* code);

// Destroys a context with its streams. Guarded by the caller.
void destroy_context(Context* context, bool drop_tasks);

// All streams of a device, the default streams included: waits for each; the first error, or 0.
int synchronize_device(const char* function, int index, int64_t timeout_ns);

// Whether memory of device `from` may be used by device `to`.
SOFTNPU_SHARED bool is_peer(int from, int to);
inline bool can_reach(int from, int to) { return from == to || is_peer(from, to); }

}  // namespace softnpu
