// The C functions about streams.
#include "runtime/capture.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "runtime/schedule.h"
#include "sanitizer/sanitizer.h"
#include "softnpu_control.h"

namespace softnpu {
namespace {

aclError create(const char* function, aclrtStream* handle, uint32_t priority, uint32_t flags) {
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": stream is NULL");
  Context* context = current_context(function);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  Stream* stream = Stream::start(*context, context->device, priority, flags);
  void* slot = stream == nullptr ? nullptr : stream_table().insert(stream);
  if (slot == nullptr) {
    if (stream != nullptr) stream->stop(true);
    return fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, function, ": device ", context->device,
                " has no stream left; destroy some");
  }
  std::lock_guard lock(context->mutex);
  context->streams.insert(slot);
  *handle = slot;
  return ACL_SUCCESS;
}

aclError destroy(const char* function, aclrtStream handle, bool drop_tasks) {
  Stream* stream = stream_table().find(handle);
  if (stream == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": the stream ", handle,
                " is not one, or was destroyed");
  if (handle == stream->context.default_stream_handle)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": the default stream ends with its context");
  if (stream->is_own_thread())
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": stream ", stream->id,
                " cannot be destroyed by its own "
                "callback");
  if (!drop_tasks)
    if (const int code = refuse_captured(function, *stream)) return code;
  leave_capture(*stream);
  if (stream_table().remove(handle) == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": the stream ", handle, " was destroyed");
  {
    std::lock_guard lock(stream->context.mutex);
    stream->context.streams.erase(handle);
  }
  stream->stop(drop_tasks);
  return ACL_SUCCESS;
}

aclError synchronize(const char* function, aclrtStream handle, int64_t timeout_ns) {
  int code = 0;
  Stream* stream = use_stream(function, handle, &code);
  if (stream == nullptr) return code;
  if (stream->is_own_thread())
    return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                ": called from a callback of the stream it would wait for");
  if (const int captured = refuse_captured(function, *stream)) return captured;
  if (!stream->wait_for_all(timeout_ns))
    return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, function, ": stream ", stream->id, " was not done in time");
  return stream->take_error();
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclrtCreateStream(aclrtStream* stream) {
  SOFTNPU_ENTER(aclrtCreateStream);
  return create("aclrtCreateStream", stream, 0, 0);
}

SOFTNPU_EXPORT aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  SOFTNPU_ENTER(aclrtCreateStreamWithConfig, priority, flag);
  return create("aclrtCreateStreamWithConfig", stream, priority, flag);
}

SOFTNPU_EXPORT aclError aclrtDestroyStream(aclrtStream stream) {
  SOFTNPU_ENTER_CLEANUP(aclrtDestroyStream, stream);
  return destroy("aclrtDestroyStream", stream, false);
}

SOFTNPU_EXPORT aclError aclrtDestroyStreamForce(aclrtStream stream) {
  SOFTNPU_ENTER_CLEANUP(aclrtDestroyStreamForce, stream);
  return destroy("aclrtDestroyStreamForce", stream, true);
}

SOFTNPU_EXPORT aclError aclrtSynchronizeStream(aclrtStream stream) {
  SOFTNPU_ENTER(aclrtSynchronizeStream, stream);
  return synchronize("aclrtSynchronizeStream", stream, kForever);
}

SOFTNPU_EXPORT aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  SOFTNPU_ENTER(aclrtSynchronizeStreamWithTimeout, stream, timeout);
  if (timeout < -1)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtSynchronizeStreamWithTimeout: timeout is ", timeout,
                ", wanted milliseconds or -1");
  return synchronize("aclrtSynchronizeStreamWithTimeout", stream,
                     timeout < 0 ? kForever : timeout * 1000000LL);
}

SOFTNPU_EXPORT aclError aclrtStreamAbort(aclrtStream stream) {
  SOFTNPU_ENTER(aclrtStreamAbort, stream);
  int code = 0;
  Stream* found = use_stream("aclrtStreamAbort", stream, &code);
  if (found == nullptr) return code;
  if (found->is_own_thread())
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtStreamAbort: called from a callback of the stream");
  found->wait(found->abort(ACL_ERROR_RT_STREAM_ABORT, "aclrtStreamAbort"));
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetStreamAvailableNum(uint32_t* streamCount) {
  SOFTNPU_ENTER(aclrtGetStreamAvailableNum);
  if (streamCount == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetStreamAvailableNum: streamCount is NULL");
  if (current_context("aclrtGetStreamAvailableNum") == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  *streamCount = uint32_t(StreamTable::capacity() - stream_table().live());
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  SOFTNPU_ENTER(aclrtStreamQuery, stream);
  if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtStreamQuery: status is NULL");
  int code = 0;
  const Stream* found = use_stream("aclrtStreamQuery", stream, &code);
  if (found == nullptr) return code;
  if ((code = refuse_captured("aclrtStreamQuery", *found)) != 0) return code;
  if (schedule::on()) [[unlikely]]
    schedule::poll();
  const sanitizer::Stamp seen = sanitizer::on() ? sanitizer::stamp(*found) : nullptr;
  const bool idle = found->idle();
  if (idle) sanitizer::host_reached(seen);
  *status = idle ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  SOFTNPU_ENTER(aclrtStreamGetId, stream);
  if (streamId == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtStreamGetId: streamId is NULL");
  int code = 0;
  const Stream* found = use_stream("aclrtStreamGetId", stream, &code);
  if (found == nullptr) return code;
  *streamId = found->id;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  SOFTNPU_ENTER(aclrtStreamGetPriority, stream);
  if (priority == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtStreamGetPriority: priority is NULL");
  int code = 0;
  const Stream* found = use_stream("aclrtStreamGetPriority", stream, &code);
  if (found == nullptr) return code;
  *priority = found->priority;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
  SOFTNPU_ENTER(aclrtStreamGetFlags, stream);
  if (flags == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtStreamGetFlags: flags is NULL");
  int code = 0;
  const Stream* found = use_stream("aclrtStreamGetFlags", stream, &code);
  if (found == nullptr) return code;
  *flags = found->flags;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT void softnpu_gate(void* stream, int closed) {
  if (stream == nullptr) set_gate_of_all(closed != 0);
  else if (Stream* found = stream_table().find(stream)) found->set_gate(closed != 0);
}

SOFTNPU_EXPORT uint64_t softnpu_live_streams(void) { return stream_table().live() - context_table().live(); }
