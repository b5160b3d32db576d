#include "backends/npu/acl_api.h"

#include <dlfcn.h>

#include <array>
#include <mutex>

#include "backends/npu/acl_error.h"
#include "base/error.h"
#include "devices/launch_log.h"

namespace mt::npu {

std::atomic<const AclApi*> g_acl{nullptr};

namespace {

// In the order of their dependencies; functions are looked up from the last to the first.
constexpr std::array<const char*, 3> kLibraries = {"libascendcl.so", "libnnopbase.so", "libopapi.so"};
std::array<void*, kLibraries.size()> g_handles{};

struct CodeText {
  int code;
  const char* name;
  const char* meaning;
  const char* next_step;
};

#define CODE(name, meaning, next_step) {name, #name, meaning, next_step}
const CodeText kCodes[] = {
    CODE(ACL_ERROR_INVALID_PARAM, "an argument is not valid", "Check the arguments named in the message."),
    CODE(ACL_ERROR_UNINITIALIZE, "AscendCL is not initialised",
         "Do not call aclFinalize while torch is in use."),
    CODE(ACL_ERROR_BAD_ALLOC, "the host has no memory left", "Free host memory."),
    CODE(ACL_ERROR_INVALID_DEVICE, "there is no such device", "Compare with torch.npu.device_count()."),
    CODE(ACL_ERROR_INTERNAL_ERROR, "an error inside AscendCL", "See the device log in ~/ascend/log."),
    CODE(ACL_ERROR_RT_PARAM_INVALID, "the runtime refused an argument",
         "Check the arguments named in the message."),
    CODE(ACL_ERROR_RT_INVALID_DEVICEID, "there is no such device", "Compare with torch.npu.device_count()."),
    CODE(ACL_ERROR_RT_CONTEXT_NULL, "no device is set on this thread", "Call torch.npu.set_device() first."),
    CODE(ACL_ERROR_RT_STREAM_CONTEXT, "the stream belongs to another device",
         "Use a stream of the device that holds the tensors."),
    CODE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this device or driver does not support the call",
         "Look for a newer CANN, or avoid the feature."),
    CODE(ACL_ERROR_RT_MEMORY_ALLOCATION, "the device has no memory left",
         "Free tensors, call torch.npu.empty_cache(), or use smaller batches."),
    CODE(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "a device resource ran out",
         "Use fewer streams, events or processes."),
    CODE(ACL_ERROR_RT_NO_STREAM_RESOURCE, "no stream is left", "Use fewer streams."),
    CODE(ACL_ERROR_RT_NO_EVENT_RESOURCE, "no event is left", "Use fewer events."),
    CODE(ACL_ERROR_RT_INTERNAL_ERROR, "an error inside the runtime", "See the device log in ~/ascend/log."),
    CODE(ACL_ERROR_RT_AICORE_TIMEOUT, "an operator took too long",
         "ACL_LAUNCH_BLOCKING=1 shows the whole stack of the launch."),
    CODE(ACL_ERROR_RT_AICORE_EXCEPTION, "an operator failed on the device",
         "ACL_LAUNCH_BLOCKING=1 shows the whole stack of the launch."),
    CODE(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, "an operator failed on the device",
         "ACL_LAUNCH_BLOCKING=1 shows the whole stack of the launch."),
    CODE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "the stream did not finish in time",
         "Look for a wait on an event that nobody records."),
    CODE(ACL_ERROR_RT_LOST_HEARTBEAT, "the device does not answer", "Check it with npu-smi info."),
    CODE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "an error inside the driver",
         "See the device log in ~/ascend/log, and check the device with npu-smi info."),
    CODE(ACL_ERROR_RT_DEVICE_OOM, "the device has no memory left",
         "Free tensors, call torch.npu.empty_cache(), or use smaller batches."),
    CODE(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "an event has no time",
         "Record both events, made with enable_timing=True, and wait for them."),
    CODE(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "the second event was recorded before the first",
         "Ask the earlier event: start.elapsed_time(end). Clocks of two devices cannot be compared."),
    CODE(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "an event did not happen in time",
         "Look for a stream that waits for something that nobody does."),
    CODE(ACL_ERROR_RT_TASK_TIMEOUT, "a task took too long",
         "ACL_LAUNCH_BLOCKING=1 shows the whole stack of the launch."),
    CODE(ACL_ERROR_RT_VECTOR_CORE_TIMEOUT, "an operator took too long",
         "ACL_LAUNCH_BLOCKING=1 shows the whole stack of the launch."),
    CODE(ACL_ERROR_RT_AICPU_TIMEOUT, "an operator took too long",
         "ACL_LAUNCH_BLOCKING=1 shows the whole stack of the launch."),
    CODE(ACL_ERROR_RT_AICPU_EXCEPTION, "an operator failed on the device",
         "ACL_LAUNCH_BLOCKING=1 shows the whole stack of the launch."),
    CODE(ACL_ERROR_RT_AICORE_TRAP_EXCEPTION, "an operator failed on the device",
         "ACL_LAUNCH_BLOCKING=1 shows the whole stack of the launch."),
    CODE(ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION, "an operator failed on the device",
         "ACL_LAUNCH_BLOCKING=1 shows the whole stack of the launch."),
    CODE(ACL_ERROR_RT_AICORE_OVER_FLOW, "an operator overflowed",
         "Look for inf and nan with torch.isfinite."),
    CODE(ACL_ERROR_RT_AIVEC_OVER_FLOW, "an operator overflowed", "Look for inf and nan with torch.isfinite."),
    CODE(ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR, "memory of the device is damaged",
         "Restart the process; if it comes back, have the card checked."),
    CODE(ACL_ERROR_RT_DEVICE_MEM_ERROR, "memory of the device is damaged",
         "Restart the process; if it comes back, have the card checked."),
    CODE(ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR, "memory of the device may be damaged",
         "Restart the process; if it comes back, have the card checked."),
    CODE(ACL_ERROR_RT_SUSPECT_REMOTE_ERROR, "another device may have failed",
         "Look at the logs of the other ranks."),
    CODE(ACL_ERROR_RT_LINK_ERROR, "the link to another device failed",
         "Check it with hccn_tool, and the logs of the other ranks."),
    CODE(ACL_ERROR_RT_STREAM_ABORT, "the stream was stopped", "Start the process again."),
    CODE(ACL_ERROR_RT_STREAM_TASK_FULL, "the stream can take no more tasks",
         "Wait for it now and then: torch.npu.synchronize()."),
    CODE(ACL_ERROR_RT_TS_ERROR, "the scheduler on the device failed", "See the device log in ~/ascend/log."),
    CODE(ACL_ERROR_RT_DEV_SETUP_ERROR, "the device could not be started",
         "Check it with npu-smi info: it may be in use, or need a reset."),
    CODE(ACL_ERROR_RT_NO_DEVICE, "there is no device", "Check with npu-smi info."),
    CODE(ACL_ERROR_RT_INVALID_HANDLE, "a handle is not valid",
         "Do not use streams or events that were destroyed."),
    CODE(ACL_ERROR_RT_STREAM_CAPTURED, "the stream is being captured",
         "Take what waits for the stream, or replays a graph in it, out of the capture."),
    CODE(ACL_ERROR_RT_EVENT_CAPTURED, "the event was recorded in a capture, where it is never reached",
         "Record it again outside the capture before asking it."),
    CODE(ACL_ERROR_RT_CAPTURE_DEPENDENCY,
         "a captured stream cannot wait for what was enqueued before the capture",
         "Wait before the capture: capture_stream.wait_stream(other)."),
    CODE(ACL_ERROR_RT_STREAM_UNJOINED, "a stream that joined the capture was not waited for",
         "Before the capture ends, let the capturing stream wait: "
         "torch.npu.current_stream().wait_stream(other)."),
    CODE(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "the capture became invalid",
         "Take what cannot be captured out of it, and capture again."),
    CODE(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "the capture was begun in another stream",
         "End it in the stream that began it."),
    CODE(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, "the capture was begun by another thread",
         "End it there, or capture with capture_error_mode='relaxed'."),
    CODE(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "the stream is not being captured", "Begin a capture first."),
    CODE(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, "a capture does not allow this call now",
         "Make it outside the capture, or capture with capture_error_mode='thread_local' or 'relaxed'."),
    CODE(ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC, "a capture does not allow copies of pageable memory now",
         "Make it outside the capture, or copy from pinned memory."),
    CODE(ACL_ERROR_STREAM_CAPTURE_CONFLICT, "two captures would depend on each other",
         "Do not wait in one capture for the other."),
    CODE(ACL_ERROR_RT_MODEL_CAPTURED, "the graph is still being captured", "End the capture first."),
    CODE(ACLNN_ERR_PARAM_NULLPTR, "a required argument is missing",
         "Check which arguments the operator needs for these inputs."),
    CODE(ACLNN_ERR_PARAM_INVALID, "the operator refused an argument",
         "Compare dtypes and shapes with what the message wants."),
    CODE(ACLNN_ERR_RUNTIME_ERROR, "the runtime under the operator failed",
         "Run with ACL_LAUNCH_BLOCKING=1 to see where."),
    CODE(ACLNN_ERR_INNER, "an error inside the operator library", "See the device log in ~/ascend/log."),
    CODE(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "no kernel for these inputs on this chip",
         "Install the kernel package of this chip, or use another dtype."),
    CODE(ACLNN_ERR_INNER_NULLPTR, "an error inside the operator library",
         "See the device log in ~/ascend/log."),
    CODE(ACLNN_ERR_INNER_CREATE_EXECUTOR, "the operator could not be prepared",
         "See the device log in ~/ascend/log."),
    CODE(ACLNN_ERR_INNER_INFERSHAPE_ERROR, "the operator cannot tell the shape of its result",
         "Compare dtypes and shapes with what the operator takes."),
    CODE(ACLNN_ERR_INNER_TILING_ERROR, "the operator cannot divide its work for these shapes",
         "Try other shapes or another dtype."),
    CODE(ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND, "the operators are not installed",
         "Source CANN's set_env.sh, which sets ASCEND_OPP_PATH."),
    CODE(ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND, "the kernel package is not installed",
         "Install CANN's kernel package for this chip."),
};
#undef CODE

void* open_library(const std::string& folder, const char* name, std::string& problem) {
  const std::string path = folder.empty() ? name : folder + "/" + name;
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle) problem = dlerror();
  return handle;
}

void close_all() {
  for (void*& handle : g_handles) {
    if (handle) dlclose(handle);
    handle = nullptr;
  }
}

}  // namespace

void fail_not_loaded() {
  fail(ErrorKind::runtime,
       "No NPU is in use yet: the AscendCL libraries have not been loaded. Use the device first, for example "
       "with "
       "torch.npu.init().");
}

void* find_symbol(const char* name) {
  for (size_t i = g_handles.size(); i-- > 0;)
    if (g_handles[i])
      if (void* address = dlsym(g_handles[i], name)) return address;
  return nullptr;
}

std::string load_acl(const std::string& folder) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> guard(mutex);
  if (acl_is_loaded()) return {};
  std::string problem;
  for (size_t i = 0; i < kLibraries.size(); ++i) {
    g_handles[i] = open_library(folder, kLibraries[i], problem);
    if (!g_handles[i]) {
      close_all();
      return problem;
    }
  }
  auto api = new AclApi;  // lives as long as the process: operators keep pointers into the libraries
  const char* missing = nullptr;
#define X(name)                                                          \
  api->name = reinterpret_cast<decltype(api->name)>(find_symbol(#name)); \
  if (!api->name) missing = #name;
  MT_ACL_REQUIRED(X)
#undef X
  if (missing) {
    delete api;
    close_all();
    return join_text("the libraries lack ", missing,
                     ", which every supported CANN has (8.1 or newer is needed)");
  }
#define X(name) api->name = reinterpret_cast<decltype(api->name)>(find_symbol(#name));
  MT_ACL_OPTIONAL(X)
#undef X
  api->folder = folder;
  Dl_info where;
  if (dladdr(reinterpret_cast<void*>(api->aclInit), &where) && where.dli_fname)
    api->loaded_from = where.dli_fname;
  g_acl.store(api, std::memory_order_release);
  return {};
}

namespace {
// What the library has to say about the last failure on this thread.
std::string recent_message() {
  const AclApi* api = g_acl.load(std::memory_order_acquire);
  const char* message = api ? api->aclGetRecentErrMsg() : nullptr;
  return message && *message ? join_text(": ", message) : std::string();
}

// Failures on the device are reported by whoever waits next.
bool waits(const std::string& function) {
  return function.find("ynchronize") != std::string::npos || function == "aclrtMemcpy";
}

std::string sentence(std::string text) {
  if (text.back() != '.' && text.back() != '\n') text += ".";
  return text;
}
}  // namespace

std::string describe_acl_error(int code, const std::string& function, bool advice) {
  const CodeText* known = nullptr;
  for (const CodeText& entry : kCodes)
    if (entry.code == code) known = &entry;
  std::string text = join_text(function, " failed with error ", code);
  if (known) text += join_text(" (", known->name, ": ", known->meaning, ")");
  text = sentence(text + recent_message());
  if (waits(function)) text += devices::describe_launches(text);
  if (advice)
    text += join_text(" ", known ? known->next_step : "Look the code up in CANN's error code reference.");
  return text;
}

void fail_acl(int code, const char* function, const char* suffix) {
  throw DeviceError(code, describe_acl_error(code, join_text(function, suffix), true));
}

void fail_null(const char* function) {
  throw Error(ErrorKind::runtime,
              sentence(join_text(function, " failed: it returned no object", recent_message())));
}

}  // namespace mt::npu
