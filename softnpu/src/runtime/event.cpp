#include "runtime/event.h"

#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "runtime/schedule.h"
#include "sanitizer/sanitizer.h"
#include "softnpu_control.h"

namespace softnpu {
namespace {

constexpr int64_t kSpin = 20'000;
constexpr int64_t kPoll = 5'000'000;  // ns between looks at "should this task give up?"
constexpr uint32_t kAllUses = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE;

std::atomic<uint32_t> next_event_id{0};

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

Event* find_event(const char* function, aclrtEvent handle, int* code) {
  Event* event = event_table().find(handle);
  if (event == nullptr)
    *code =
        fail(ACL_ERROR_RT_PARAM_INVALID, function, ": the event ", handle, " is not one, or was destroyed");
  return event;
}

aclError create(const char* function, aclrtEvent* handle, uint32_t flags, bool extended) {
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": event is NULL");
  if (current_context(function) == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  auto* event = new Event(flags, extended);
  event->id = next_event_id.fetch_add(1, std::memory_order_relaxed);
  *handle = event_table().insert(event);
  if (*handle != nullptr) return ACL_SUCCESS;
  delete event;
  return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, function, ": 65536 events exist; destroy some");
}

aclError check_flags(const char* function, uint32_t flags) {
  if (flags != 0 && (flags & ~(kAllUses | ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL)) == 0)
    return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, function, ": flag is ", flags,
              "; wanted a combination of ACL_EVENT_SYNC (1), ACL_EVENT_CAPTURE_STREAM_PROGRESS (2) and "
              "ACL_EVENT_TIME_LINE (8)");
}

aclError synchronize(const char* function, aclrtEvent handle, int64_t timeout_ns) {
  int code = 0;
  Event* event = find_event(function, handle, &code);
  if (event == nullptr) return code;
  const auto version = event->version();
  if (version == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": event ", event->id, " was never recorded");
  if (version->wait(timeout_ns)) {
    sanitizer::host_reached(version->stamp);
    return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, function, ": event ", event->id, " was not reached in time");
}

// Whether the event's last recording is reached, for a program that asks.
bool query(const Event& event) {
  if (schedule::on()) [[unlikely]]
    schedule::poll();
  const auto version = event.version();
  if (version == nullptr || !version->reached()) return false;
  sanitizer::host_reached(version->stamp);
  return true;
}

aclError stream_wait(const char* function, aclrtStream stream, aclrtEvent handle) {
  int code = 0;
  Event* event = find_event(function, handle, &code);
  if (event == nullptr) return code;
  if (event->extended && (event->flags & ACL_EVENT_SYNC) == 0)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": event ", event->id,
                " was created without ACL_EVENT_SYNC, so no stream can wait for it");
  Stream* waiting = use_stream(function, stream, &code);
  if (waiting == nullptr) return code;
  auto version = event->version();
  if (version != nullptr) sanitizer::stream_waits(*waiting, version->stamp);
  if (version == nullptr || version->reached()) return ACL_SUCCESS;  // nothing to wait for
  waiting->submit(function, Task::Kind::order, [version = std::move(version)] { version->wait(kForever); });
  return ACL_SUCCESS;
}

}  // namespace

EventTable& event_table() {
  static auto* instance = new EventTable;
  return *instance;
}

void EventVersion::reach() {
  time_ns_ = now_ns();
  if (state_.exchange(kReached, std::memory_order_acq_rel) == kPendingWithSleepers) futex_wake_all(state_);
}

bool EventVersion::wait(int64_t timeout_ns) {
  if (!schedule::on()) [[likely]]
    return wait_until_reached(timeout_ns);
  Stream* stream = current_stream();
  if (stream == nullptr) {
    const schedule::Demand demand([this] { return reached(); });
    return wait_until_reached(timeout_ns);
  }
  schedule::stand_still(*stream, this);
  const bool done = wait_until_reached(timeout_ns);
  schedule::move_on(*stream);
  return done;
}

bool EventVersion::wait_until_reached(int64_t timeout_ns) {
  if (spin_until([&] { return reached(); }, timeout_ns < 0 ? kSpin : std::min(timeout_ns, kSpin)))
    return true;
  const int64_t end = timeout_ns < 0 ? INT64_MAX : now_ns() + timeout_ns;
  for (;;) {
    uint32_t pending = kPending;
    state_.compare_exchange_strong(pending, kPendingWithSleepers);
    if (reached()) return true;
    const int64_t left = end == INT64_MAX ? kPoll : std::min(end - now_ns(), kPoll);
    if (left <= 0 || task_should_give_up()) return false;
    futex_wait(state_, kPendingWithSleepers, left);
  }
}

}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclrtCreateEvent(aclrtEvent* event) {
  SOFTNPU_ENTER(aclrtCreateEvent);
  return create("aclrtCreateEvent", event, kAllUses, false);
}

SOFTNPU_EXPORT aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  SOFTNPU_ENTER(aclrtCreateEventWithFlag, flag);
  if (const int code = check_flags("aclrtCreateEventWithFlag", flag)) return code;
  return create("aclrtCreateEventWithFlag", event, flag, false);
}

SOFTNPU_EXPORT aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  SOFTNPU_ENTER(aclrtCreateEventExWithFlag, flag);
  if (const int code = check_flags("aclrtCreateEventExWithFlag", flag)) return code;
  return create("aclrtCreateEventExWithFlag", event, flag, true);
}

SOFTNPU_EXPORT aclError aclrtDestroyEvent(aclrtEvent event) {
  SOFTNPU_ENTER_CLEANUP(aclrtDestroyEvent, event);
  Event* found = event_table().remove(event);
  if (found == nullptr)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtDestroyEvent: the event ", event,
                " is not one, or was destroyed");
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
  auto version = std::make_shared<EventVersion>();
  if (sanitizer::on()) [[unlikely]]
    version->stamp = sanitizer::stamp(*recording);
  {
    std::lock_guard lock(found->mutex);
    found->current = version;
  }
  recording->submit("aclrtRecordEvent", Task::Kind::order, Recording(std::move(version)));
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  SOFTNPU_ENTER(aclrtQueryEventStatus, event);
  if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEventStatus: status is NULL");
  int code = 0;
  Event* found = find_event("aclrtQueryEventStatus", event, &code);
  if (found == nullptr) return code;
  *status = query(*found) ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  SOFTNPU_ENTER(aclrtQueryEvent, event);
  if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEvent: status is NULL");
  int code = 0;
  Event* found = find_event("aclrtQueryEvent", event, &code);
  if (found == nullptr) return code;
  *status = query(*found) ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
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
  return stream_wait("aclrtStreamWaitEvent", stream, event);
}

SOFTNPU_EXPORT aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  SOFTNPU_ENTER(aclrtEventElapsedTime, startEvent, endEvent);
  if (ms == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtEventElapsedTime: ms is NULL");
  int code = 0;
  int64_t times[2];
  for (int i = 0; i < 2; ++i) {
    Event* found = find_event("aclrtEventElapsedTime", i == 0 ? startEvent : endEvent, &code);
    if (found == nullptr) return code;
    const auto version = found->version();
    if (version == nullptr || (found->flags & ACL_EVENT_TIME_LINE) == 0)
      return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "aclrtEventElapsedTime: event ", found->id,
                  " has no time: it was never recorded, or created without ACL_EVENT_TIME_LINE");
    if (!version->reached())
      return fail(ACL_ERROR_RT_EVENT_NOT_COMPLETE, "aclrtEventElapsedTime: event ", found->id,
                  " is not reached yet; synchronise first");
    times[i] = version->time_ns();
  }
  if (times[1] < times[0])
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL,
                "aclrtEventElapsedTime: the end came before the start");
  *ms = float(double(times[1] - times[0]) * 1e-6);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetEventId(aclrtEvent event, uint32_t* eventId) {
  SOFTNPU_ENTER(aclrtGetEventId, event);
  if (eventId == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetEventId: eventId is NULL");
  int code = 0;
  Event* found = find_event("aclrtGetEventId", event, &code);
  if (found == nullptr) return code;
  *eventId = found->id;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT uint64_t softnpu_live_events(void) { return event_table().live(); }
