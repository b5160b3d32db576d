#include "runtime/device.h"

#include <vector>

#include "runtime/capture.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "sanitizer/sanitizer.h"
#include "softnpu_control.h"

namespace softnpu {
namespace {

Device* devices = nullptr;
std::atomic<bool> opened{false};
std::mutex devices_mutex;  // guards opening, references and the creation and end of contexts

thread_local void* thread_context = nullptr;  // a handle: another thread may have reset the device meanwhile

int open_all(const char* function) {
  if (opened.load(std::memory_order_acquire)) return 0;
  Config& settings = config();
  if (!settings.problem.empty()) return fail(ACL_ERROR_INVALID_PARAM, function, ": ", settings.problem);
  std::string problem;
  if (settings.devices > 0 && !reserve_address_space(settings.devices, settings.memory, &problem))
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, function, ": ", problem);
  devices = new Device[settings.devices];
  const uintptr_t part = uintptr_t(1) << address_space.device_shift, memory = address_space.memory_bytes;
  for (uint32_t i = 0; i < settings.devices; ++i) {
    const uintptr_t base = address_space.base + i * part;
    if (!devices[i].memory.open(int(i), base, memory, settings.memory, &problem))
      return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, function, ": ", problem);
    devices[i].addresses.open(base + memory, base + part);
  }
  opened.store(true, std::memory_order_release);
  return 0;
}

int check_index(const char* function, int index) {
  if (index >= 0 && uint32_t(index) < config().devices) return 0;
  return fail(ACL_ERROR_RT_INVALID_DEVICEID, function, ": device ", index, " does not exist; there are ",
              config().devices, " (SOFTNPU_DEVICES)");
}

// nullptr with *code when the system has no handle or thread left.
Context* create_context(const char* function, int index, bool primary, int* code) {
  auto* context = new Context(index, primary);
  context->handle = context_table().insert(context);
  if (context->handle != nullptr) {
    if (Stream* stream = Stream::start(*context, index, 0, 0)) {
      context->default_stream_handle = stream_table().insert(stream);
      if (context->default_stream_handle != nullptr) return context;
      stream->stop(true);
    }
    context_table().remove(context->handle);
  }
  delete context;
  *code = fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, function, ": no stream or context is left on device ", index);
  return nullptr;
}

}  // namespace

ContextTable& context_table() {
  static auto* instance = new ContextTable;
  return *instance;
}

bool devices_open() { return opened.load(std::memory_order_acquire); }
Device& device(int index) { return devices[index]; }

int open_device(const char* function, int index) {
  std::lock_guard lock(devices_mutex);
  if (const int code = open_all(function)) return code;
  return check_index(function, index);
}

Context* current_context(const char* function) {
  if (Context* context = context_table().find(thread_context)) [[likely]]
    return context;
  fail(ACL_ERROR_RT_CONTEXT_NULL, function, ": no device is set in this thread; call aclrtSetDevice first");
  return nullptr;
}

int current_device(const char* function) {
  const Context* context = current_context(function);
  return context == nullptr ? -1 : context->device;
}

int device_or_none() {
  const Context* context = context_table().find(thread_context);
  return context == nullptr ? -1 : context->device;
}

Stream* use_stream(const char* function, aclrtStream handle, int* code) {
  Context* context = current_context(function);
  if (context == nullptr) {
    *code = ACL_ERROR_RT_CONTEXT_NULL;
    return nullptr;
  }
  Stream* stream = stream_table().find(handle == nullptr ? context->default_stream_handle : handle);
  if (stream == nullptr) {
    *code =
        fail(ACL_ERROR_RT_PARAM_INVALID, function, ": the stream ", handle, " is not one, or was destroyed");
    return nullptr;
  }
  if (&stream->context != context) {
    *code = fail(ACL_ERROR_RT_STREAM_CONTEXT, function, ": stream ", stream->id, " belongs to device ",
                 stream->device, " and another context than the current one (device ", context->device,
                 "); set the stream's device first");
    return nullptr;
  }
  return stream;
}

void destroy_context(Context* context, bool drop_tasks) {
  context_table().remove(context->handle);
  std::vector<void*> handles;
  {
    std::lock_guard lock(context->mutex);
    handles.assign(context->streams.begin(), context->streams.end());
  }
  handles.push_back(context->default_stream_handle);
  for (void* handle : handles) {
    if (Stream* stream = stream_table().remove(handle)) {
      leave_capture(*stream);
      stream->stop(drop_tasks);
    }
  }
  delete context;
}

int synchronize_device(const char* function, int index, int64_t timeout_ns) {
  const int64_t end = timeout_ns < 0 ? INT64_MAX : now_ns() + timeout_ns;
  int first_error = 0;
  bool late = false;
  const bool waited = for_each_stream(index, [&](Stream& stream) {
    if (first_error == 0) first_error = refuse_captured(function, stream);
    if (stream.recording()) return;
    const int64_t left = timeout_ns < 0 ? kForever : std::max<int64_t>(end - now_ns(), 0);
    late = late || !stream.wait_for_all(left);
    if (first_error == 0) first_error = stream.take_error();
  });
  if (!waited)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                ": called from a callback of a stream it would wait for");
  if (late)
    return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, function, ": device ", index, " was not done in time");
  return first_error;
}

bool is_peer(int from, int to) {
  return (devices[to].peers.load(std::memory_order_relaxed) >> from & 1) != 0;
}

}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclrtGetDeviceCount(uint32_t* count) {
  SOFTNPU_ENTER(aclrtGetDeviceCount);
  if (count == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceCount: count is NULL");
  *count = config().devices;
  if (*count == 0) return fail(ACL_ERROR_RT_NO_DEVICE, "aclrtGetDeviceCount: SOFTNPU_DEVICES is 0");
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtSetDevice(int32_t deviceId) {
  SOFTNPU_ENTER(aclrtSetDevice, deviceId);
  std::lock_guard lock(devices_mutex);
  int code = open_all("aclrtSetDevice");
  if (code == 0) code = check_index("aclrtSetDevice", deviceId);
  if (code != 0) return code;
  Device& target = devices[deviceId];
  if (target.primary == nullptr) target.primary = create_context("aclrtSetDevice", deviceId, true, &code);
  if (target.primary == nullptr) return code;
  ++target.references;
  thread_context = target.primary->handle;
  return ACL_SUCCESS;
}

namespace {

aclError reset_device(const char* function, int32_t index, bool force) {
  Context* ending = nullptr;
  {
    std::lock_guard lock(devices_mutex);
    if (const int code = check_index(function, index)) return code;
    if (!devices_open() || devices[index].references == 0)
      return fail(ACL_ERROR_RT_CONTEXT_NULL, function, ": device ", index, " is not set; nothing to reset");
    Device& target = devices[index];
    target.references = force ? 0 : target.references - 1;
    if (target.references == 0) std::swap(ending, target.primary);
  }
  if (ending != nullptr) {
    destroy_context(ending, force);
    devices[index].peers.store(0);
    if (sanitizer::on()) [[unlikely]] {
      const uintptr_t part = uintptr_t(1) << address_space.device_shift;
      const uintptr_t begin = address_space.base + uintptr_t(index) * part;
      sanitizer::device_reset(function, begin, begin + part);
    }
    devices[index].addresses.release_all();
    release_physical_handles(index);
    devices[index].memory.release_all();
  }
  return ACL_SUCCESS;
}

}  // namespace

SOFTNPU_EXPORT aclError aclrtResetDevice(int32_t deviceId) {
  SOFTNPU_ENTER_CLEANUP(aclrtResetDevice, deviceId);
  return reset_device("aclrtResetDevice", deviceId, false);
}

SOFTNPU_EXPORT aclError aclrtResetDeviceForce(int32_t deviceId) {
  SOFTNPU_ENTER_CLEANUP(aclrtResetDeviceForce, deviceId);
  return reset_device("aclrtResetDeviceForce", deviceId, true);
}

SOFTNPU_EXPORT aclError aclrtGetDevice(int32_t* deviceId) {
  SOFTNPU_ENTER(aclrtGetDevice);
  if (deviceId == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDevice: deviceId is NULL");
  const int index = current_device("aclrtGetDevice");
  if (index < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  *deviceId = index;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  SOFTNPU_ENTER(aclrtCreateContext, deviceId);
  if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateContext: context is NULL");
  std::lock_guard lock(devices_mutex);
  int code = open_all("aclrtCreateContext");
  if (code == 0) code = check_index("aclrtCreateContext", deviceId);
  if (code != 0) return code;
  Context* created = create_context("aclrtCreateContext", deviceId, false, &code);
  if (created == nullptr) return code;
  thread_context = created->handle;
  *context = created->handle;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtDestroyContext(aclrtContext context) {
  SOFTNPU_ENTER_CLEANUP(aclrtDestroyContext, context);
  Context* found = context_table().find(context);
  if (found == nullptr)
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtDestroyContext: ", context,
                " is not a context, or was destroyed");
  if (found->primary)
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "aclrtDestroyContext: this context belongs to aclrtSetDevice; call "
                "aclrtResetDevice");
  destroy_context(found, false);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtSetCurrentContext(aclrtContext context) {
  SOFTNPU_ENTER(aclrtSetCurrentContext, context);
  if (context_table().find(context) == nullptr)
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtSetCurrentContext: ", context,
                " is not a context, or was destroyed");
  thread_context = context;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetCurrentContext(aclrtContext* context) {
  SOFTNPU_ENTER(aclrtGetCurrentContext);
  if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetCurrentContext: context is NULL");
  const Context* current = current_context("aclrtGetCurrentContext");
  if (current == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  *context = current->handle;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  SOFTNPU_ENTER(aclrtCtxGetCurrentDefaultStream);
  if (stream == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtCtxGetCurrentDefaultStream: stream is NULL");
  const Context* current = current_context("aclrtCtxGetCurrentDefaultStream");
  if (current == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  *stream = current->default_stream_handle;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  SOFTNPU_ENTER(aclrtGetPrimaryCtxState, deviceId);
  if (active == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetPrimaryCtxState: active is NULL");
  std::lock_guard lock(devices_mutex);
  int code = open_all("aclrtGetPrimaryCtxState");
  if (code == 0) code = check_index("aclrtGetPrimaryCtxState", deviceId);
  if (code != 0) return code;
  if (flags != nullptr) *flags = 0;
  *active = devices[deviceId].primary != nullptr;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtSynchronizeDevice(void) {
  SOFTNPU_ENTER(aclrtSynchronizeDevice);
  const int index = current_device("aclrtSynchronizeDevice");
  return index < 0 ? ACL_ERROR_RT_CONTEXT_NULL
                   : synchronize_device("aclrtSynchronizeDevice", index, kForever);
}

SOFTNPU_EXPORT aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  SOFTNPU_ENTER(aclrtSynchronizeDeviceWithTimeout, timeout);
  const int index = current_device("aclrtSynchronizeDeviceWithTimeout");
  if (index < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  if (timeout < -1)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtSynchronizeDeviceWithTimeout: timeout is ", timeout,
                ", wanted milliseconds or -1");
  return synchronize_device("aclrtSynchronizeDeviceWithTimeout", index,
                            timeout < 0 ? kForever : timeout * 1000000LL);
}

// The device goes on with what is launched afterwards; the streams report once that they lost tasks.
SOFTNPU_EXPORT aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
  SOFTNPU_ENTER(aclrtDeviceTaskAbort, deviceId, timeout);
  if (const int code = open_device("aclrtDeviceTaskAbort", deviceId)) return code;
  const int64_t end = timeout == 0 ? INT64_MAX : now_ns() + timeout * 1000000LL;
  std::vector<std::pair<Stream*, uint64_t>> last;
  bool late = false;
  auto abort = [&](Stream& stream) {
    stream.context.stopped_by.store(0);
    last.emplace_back(&stream, stream.abort(ACL_ERROR_RT_DEVICE_TASK_ABORT, "aclrtDeviceTaskAbort"));
  };
  // All of them are told before any is waited for: one may stand still for another.
  bool done = for_each_stream(deviceId, abort);
  done = done && for_each_stream(deviceId, [&](Stream& stream) {
           for (const auto& [told, ticket] : last)
             if (told == &stream)
               late = late || !stream.wait(
                                  ticket, end == INT64_MAX ? kForever : std::max<int64_t>(end - now_ns(), 0));
         });
  if (!done)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtDeviceTaskAbort: called from a callback of the device");
  if (late)
    return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "aclrtDeviceTaskAbort: a task of device ", deviceId,
                " did not end in time");
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT int softnpu_set_devices(uint32_t count) {
  std::lock_guard lock(devices_mutex);
  if (devices_open() || count > kMaxDevices) return 0;
  config().devices = count;
  return 1;
}

SOFTNPU_EXPORT int softnpu_set_memory(uint64_t bytes_per_device) {
  std::lock_guard lock(devices_mutex);
  if (devices_open() || bytes_per_device == 0 || bytes_per_device > uint64_t(1) << 42) return 0;
  config().memory = bytes_per_device;
  return 1;
}

SOFTNPU_EXPORT uint64_t softnpu_live_bytes(int32_t index) {
  if (!devices_open() || index < 0 || uint32_t(index) >= config().devices) return 0;
  return devices[index].memory.used();
}
