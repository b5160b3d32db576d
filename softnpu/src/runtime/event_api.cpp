// The C functions about events.
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/event.h"
#include "runtime/hook.h"
#include "runtime/schedule.h"
#include "sanitizer/sanitizer.h"
#include "softnpu_control.h"

namespace softnpu {
namespace {

constexpr uint32_t kAllUses = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE;

std::atomic<uint32_t> next_event_id{0};
std::atomic<uint32_t> wait_limit_seconds{0};  // aclrtSetOpWaitTimeout; 0: none

// The task that reaches a version. A stream destroyed by force drops its tasks; those who wait must not hang
// then.
struct Recording {
  std::shared_ptr<EventVersion> version;
  explicit Recording(std::shared_ptr<EventVersion> recorded) : version(std::move(recorded)) {}
  Recording(Recording&&) noexcept = default;
  ~Recording() {
    if (version != nullptr && !version->reached()) version->reach();
  }
  void operator()() { version->reach(); }
};

// The task that waits, counted among those of its event until it is done or dropped.
template <class Awaited>
struct Waiting {
  std::shared_ptr<Awaited> awaited;
  std::shared_ptr<std::atomic<uint32_t>> count;
  int64_t limit_ns;

  Waiting(std::shared_ptr<Awaited> what, const Event& event, int64_t limit)
      : awaited(std::move(what)), count(event.waiting), limit_ns(limit) {
    count->fetch_add(1);
  }
  Waiting(Waiting&&) noexcept = default;
  ~Waiting() {
    if (count != nullptr) count->fetch_sub(1);
  }
  void operator()() {
    if (!awaited->wait(limit_ns) && !task_should_give_up())
      throw TaskError(ACL_ERROR_RT_WAIT_TIMEOUT, "an event was not reached in time");
  }
};

Event* find_event(const char* function, aclrtEvent handle, int* code) {
  Event* event = event_table().find(handle);
  if (event == nullptr)
    *code =
        fail(ACL_ERROR_RT_PARAM_INVALID, function, ": the event ", handle, " is not one, or was destroyed");
  return event;
}

// For functions that look at a recording: nullptr with *code for events that have none to look at.
Event* find_plain_event(const char* function, aclrtEvent handle, bool interprocess_too, int* code) {
  Event* event = find_event(function, handle, code);
  if (event == nullptr) return nullptr;
  if (event->external() || (event->interprocess() && !interprocess_too)) {
    *code = fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, function, ": event ", event->id, " is ",
                 event->external() ? "external" : "shared between processes",
                 ", which this function does not support");
    return nullptr;
  }
  const auto version = event->version();
  if (version != nullptr && version->captured) {
    *code = fail(ACL_ERROR_RT_EVENT_CAPTURED, function, ": event ", event->id,
                 " was recorded in a capture, so it is never reached; record it again");
    return nullptr;
  }
  return event;
}

aclError create(const char* function, aclrtEvent* handle, uint32_t flags, EventKind kind) {
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": event is NULL");
  if (current_context(function) == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  auto event = std::make_unique<Event>(flags, kind);
  event->id = next_event_id.fetch_add(1, std::memory_order_relaxed);
  if (event->interprocess()) {
    std::string problem;
    Export row = Export::create(&problem);
    if (!row) return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, function, ": ", problem);
    row->open_to_all = 1;
    event->shared = std::make_shared<Borrowed>(std::move(row));
  }
  *handle = event_table().insert(event.get());
  if (*handle == nullptr)
    return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, function, ": 65536 events exist; destroy some");
  event.release();
  return ACL_SUCCESS;
}

// `alone` is the flag that the function takes, but not together with others.
aclError check_flags(const char* function, uint32_t flags, uint32_t alone, const char* alone_text) {
  if (flags == alone || (flags != 0 && (flags & ~(kAllUses | ACL_EVENT_DEVICE_USE_ONLY)) == 0))
    return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, function, ": flag is ", flags,
              "; wanted a combination of ACL_EVENT_SYNC (1), ACL_EVENT_CAPTURE_STREAM_PROGRESS (2) and "
              "ACL_EVENT_TIME_LINE (8), or ",
              alone_text, " alone");
}

aclError synchronize(const char* function, aclrtEvent handle, int64_t timeout_ns) {
  int code = 0;
  const Event* event = find_plain_event(function, handle, true, &code);
  if (event == nullptr) return code;
  const auto version = event->version();
  if (version == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": event ", event->id, " was never recorded");
  try {
    if (version->wait(timeout_ns)) {
      sanitizer::host_reached(version->stamp);
      return ACL_SUCCESS;
    }
  } catch (const TaskError& error) { return fail(error.code, function, ": ", error.what()); }
  return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, function, ": event ", event->id, " was not reached in time");
}

// Whether a recording is reached, for a program that asks.
bool reached_for_host(const EventVersion& version) {
  if (schedule::on()) [[unlikely]]
    schedule::poll();
  if (!version.reached()) return false;
  sanitizer::host_reached(version.stamp);
  return true;
}

aclError stream_wait(const char* function, aclrtStream stream, aclrtEvent handle, int64_t limit_ns) {
  int code = 0;
  Event* event = find_event(function, handle, &code);
  if (event == nullptr) return code;
  if (event->kind != EventKind::plain &&
      (event->flags & (ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL | ACL_EVENT_IPC)) == 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": event ", event->id,
                " was created without ACL_EVENT_SYNC, so no stream can wait for it");
  Stream* waiting = use_stream(function, stream, &code);
  if (waiting == nullptr) return code;
  if (capture_wait(function, *event, *waiting, &code)) return code;
  if (event->external()) {
    waiting->submit(function, Task::Kind::order, Waiting<EventFlag>(event->flag, *event, limit_ns));
    return ACL_SUCCESS;
  }
  auto version = event->version();
  if (version != nullptr) sanitizer::stream_waits(*waiting, version->stamp);
  if (version == nullptr || version->reached()) return ACL_SUCCESS;  // nothing to wait for
  waiting->submit(function, Task::Kind::order, Waiting<EventVersion>(std::move(version), *event, limit_ns));
  return ACL_SUCCESS;
}

int64_t default_limit() {
  const uint32_t seconds = wait_limit_seconds.load(std::memory_order_relaxed);
  return seconds == 0 ? kForever : int64_t(seconds) * 1'000'000'000;
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclrtCreateEvent(aclrtEvent* event) {
  SOFTNPU_ENTER(aclrtCreateEvent);
  return create("aclrtCreateEvent", event, kAllUses, EventKind::plain);
}

SOFTNPU_EXPORT aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  SOFTNPU_ENTER(aclrtCreateEventWithFlag, flag);
  if (const int code =
          check_flags("aclrtCreateEventWithFlag", flag, ACL_EVENT_EXTERNAL, "ACL_EVENT_EXTERNAL (32)"))
    return code;
  return create("aclrtCreateEventWithFlag", event, flag, EventKind::with_flag);
}

SOFTNPU_EXPORT aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  SOFTNPU_ENTER(aclrtCreateEventExWithFlag, flag);
  if (const int code = check_flags("aclrtCreateEventExWithFlag", flag, ACL_EVENT_IPC, "ACL_EVENT_IPC (64)"))
    return code;
  return create("aclrtCreateEventExWithFlag", event, flag, EventKind::extended);
}

SOFTNPU_EXPORT aclError aclrtDestroyEvent(aclrtEvent event) {
  SOFTNPU_ENTER_CLEANUP(aclrtDestroyEvent, event);
  Event* found = event_table().remove(event);
  if (found == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtDestroyEvent: the event ", event,
                " is not one, or was destroyed");
  if (found->shared != nullptr && found->shared->row().is_own()) found->shared->row().end();
  delete found;  // tasks hold the versions they need
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  SOFTNPU_ENTER(aclrtRecordEvent, event, stream);
  int code = 0;
  Event* found = find_event("aclrtRecordEvent", event, &code);
  if (found == nullptr) return code;
  Stream* recording = use_stream("aclrtRecordEvent", stream, &code);
  if (recording == nullptr) return code;
  if (capture_record("aclrtRecordEvent", *found, *recording, &code)) return code;
  if (found->external()) {
    recording->submit("aclrtRecordEvent", Task::Kind::order, [flag = found->flag] { flag->raise(); });
    return ACL_SUCCESS;
  }
  sanitizer::Stamp stamp = sanitizer::on() ? sanitizer::stamp(*recording) : nullptr;
  recording->submit("aclrtRecordEvent", Task::Kind::order, Recording(found->record(std::move(stamp))));
  return ACL_SUCCESS;
}

// Whoever waits already holds the version it waits for, so that forgetting it at once is the same as in turn.
SOFTNPU_EXPORT aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  SOFTNPU_ENTER(aclrtResetEvent, event, stream);
  int code = 0;
  Event* found = find_event("aclrtResetEvent", event, &code);
  if (found == nullptr) return code;
  if (found->kind != EventKind::with_flag || (found->flags & (ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL)) == 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtResetEvent: event ", found->id,
                " cannot be reset: wanted one of aclrtCreateEventWithFlag with ACL_EVENT_SYNC");
  Stream* resetting = use_stream("aclrtResetEvent", stream, &code);
  if (resetting == nullptr) return code;
  if (capture_reset("aclrtResetEvent", *found, *resetting, &code)) return code;
  if (found->external())
    resetting->submit("aclrtResetEvent", Task::Kind::order, [flag = found->flag] { flag->lower(); });
  else found->set_version(nullptr);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  SOFTNPU_ENTER(aclrtQueryEventStatus, event);
  if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEventStatus: status is NULL");
  int code = 0;
  const Event* found = find_plain_event("aclrtQueryEventStatus", event, true, &code);
  if (found == nullptr) return code;
  const auto version = found->version();
  // An event of the extended kind that was never recorded has nothing to wait for.
  const bool done = version == nullptr ? found->kind == EventKind::extended : reached_for_host(*version);
  *status = done ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  SOFTNPU_ENTER(aclrtQueryEvent, event);
  if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEvent: status is NULL");
  int code = 0;
  const Event* found = find_plain_event("aclrtQueryEvent", event, false, &code);
  if (found == nullptr) return code;
  const auto version = found->version();
  *status = version != nullptr && reached_for_host(*version) ? ACL_EVENT_STATUS_COMPLETE
                                                             : ACL_EVENT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  SOFTNPU_ENTER(aclrtQueryEventWaitStatus, event);
  if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEventWaitStatus: status is NULL");
  int code = 0;
  const Event* found = find_plain_event("aclrtQueryEventWaitStatus", event, false, &code);
  if (found == nullptr) return code;
  if (found->kind == EventKind::extended)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtQueryEventWaitStatus: event ", found->id,
                " was created by aclrtCreateEventExWithFlag, which this function does not support");
  *status = found->waiting->load() == 0 ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtSynchronizeEvent(aclrtEvent event) {
  SOFTNPU_ENTER(aclrtSynchronizeEvent, event);
  return synchronize("aclrtSynchronizeEvent", event, kForever);
}

SOFTNPU_EXPORT aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  SOFTNPU_ENTER(aclrtSynchronizeEventWithTimeout, event, timeout);
  if (timeout < -1)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtSynchronizeEventWithTimeout: timeout is ", timeout,
                ", wanted milliseconds or -1");
  return synchronize("aclrtSynchronizeEventWithTimeout", event, timeout < 0 ? kForever : timeout * 1000000LL);
}

SOFTNPU_EXPORT aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  SOFTNPU_ENTER(aclrtStreamWaitEvent, stream, event);
  return stream_wait("aclrtStreamWaitEvent", stream, event, default_limit());
}

SOFTNPU_EXPORT aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event,
                                                        int32_t timeout) {
  SOFTNPU_ENTER(aclrtStreamWaitEventWithTimeout, stream, event, timeout);
  if (timeout < 0)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtStreamWaitEventWithTimeout: timeout is ", timeout,
                ", wanted milliseconds, or 0 for none");
  return stream_wait("aclrtStreamWaitEventWithTimeout", stream, event,
                     timeout == 0 ? kForever : timeout * 1000000LL);
}

SOFTNPU_EXPORT aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  SOFTNPU_ENTER(aclrtSetOpWaitTimeout, timeout);
  wait_limit_seconds.store(timeout);
  return ACL_SUCCESS;
}

namespace {

// When a version was reached, or the code.
int time_of(const char* function, aclrtEvent event, int64_t* time_ns) {
  int code = 0;
  const Event* found = find_plain_event(function, event, false, &code);
  if (found == nullptr) return code;
  const auto version = found->version();
  if (version == nullptr || (found->flags & ACL_EVENT_TIME_LINE) == 0)
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, function, ": event ", found->id,
                " has no time: it was never recorded, or created without ACL_EVENT_TIME_LINE");
  if (!version->reached())
    return fail(ACL_ERROR_RT_EVENT_NOT_COMPLETE, function, ": event ", found->id,
                " is not reached yet; synchronise first");
  *time_ns = version->time_ns();
  return 0;
}

}  // namespace

SOFTNPU_EXPORT aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  SOFTNPU_ENTER(aclrtEventElapsedTime, startEvent, endEvent);
  if (ms == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtEventElapsedTime: ms is NULL");
  int64_t start = 0, end = 0;
  if (const int code = time_of("aclrtEventElapsedTime", startEvent, &start)) return code;
  if (const int code = time_of("aclrtEventElapsedTime", endEvent, &end)) return code;
  if (end < start)
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL,
                "aclrtEventElapsedTime: the end came before the start");
  *ms = float(double(end - start) * 1e-6);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  SOFTNPU_ENTER(aclrtEventGetTimestamp, event);
  if (timestamp == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtEventGetTimestamp: timestamp is NULL");
  int64_t time_ns = 0;
  if (const int code = time_of("aclrtEventGetTimestamp", event, &time_ns)) return code;
  *timestamp = uint64_t(time_ns) / 1000;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetEventId(aclrtEvent event, uint32_t* eventId) {
  SOFTNPU_ENTER(aclrtGetEventId, event);
  if (eventId == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetEventId: eventId is NULL");
  int code = 0;
  const Event* found = find_event("aclrtGetEventId", event, &code);
  if (found == nullptr) return code;
  *eventId = found->id;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetEventAvailNum(uint32_t* eventCount) {
  SOFTNPU_ENTER(aclrtGetEventAvailNum);
  if (eventCount == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetEventAvailNum: eventCount is NULL");
  if (current_context("aclrtGetEventAvailNum") == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  *eventCount = uint32_t(EventTable::capacity() - event_table().live());
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle* handle) {
  SOFTNPU_ENTER(aclrtIpcGetEventHandle, event);
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtIpcGetEventHandle: handle is NULL");
  int code = 0;
  const Event* found = find_event("aclrtIpcGetEventHandle", event, &code);
  if (found == nullptr) return code;
  if (!found->interprocess())
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcGetEventHandle: event ", found->id,
                " was created without ACL_EVENT_IPC");
  *handle = {};
  found->shared->row().name().text().copy(handle->reserved, sizeof handle->reserved - 1);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent* event) {
  SOFTNPU_ENTER(aclrtIpcOpenEventHandle);
  if (event == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtIpcOpenEventHandle: event is NULL");
  if (current_context("aclrtIpcOpenEventHandle") == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  handle.reserved[sizeof handle.reserved - 1] = '\0';
  ExportName name;
  if (!ExportName::from_text(handle.reserved, &name))
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcOpenEventHandle: the handle is not one of an event");
  std::string problem;
  auto opened = std::make_unique<Event>(ACL_EVENT_IPC, EventKind::extended);
  Export row = Export::find(name, &problem);
  if (row) opened->shared = std::make_shared<Borrowed>(std::move(row));
  if (opened->shared == nullptr || !Export::find(name, &problem))  // its owner may just have ended it
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtIpcOpenEventHandle: ", problem);
  opened->id = next_event_id.fetch_add(1, std::memory_order_relaxed);
  *event = event_table().insert(opened.get());
  if (*event == nullptr)
    return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "aclrtIpcOpenEventHandle: 65536 events exist; destroy some");
  opened.release();
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT uint64_t softnpu_live_events(void) { return event_table().live(); }
