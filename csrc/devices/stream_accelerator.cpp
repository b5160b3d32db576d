#include "devices/stream_accelerator.h"

#include <pthread.h>

#include "base/error.h"
#include "core/host_lock.h"
#include "core/observe_task.h"
#include "core/warn.h"
#include "devices/device_graph.h"
#include "devices/driver_upstream.h"
#include "devices/failure_watch.h"
#include "devices/launch_log.h"

namespace mt::devices {

// The threads of the streams and the driver's state do not survive a fork.
struct AfterFork {
  static void in_child() {
    for (int slot = 0; slot < kDeviceTypes; ++slot) {
      StreamAccelerator* there = stream_accelerator(DeviceType(slot));
      if (!there || !there->is_initialized()) continue;
      there->forked_ = true;
      there->forget_active_device();
    }
  }
};

namespace {

void* pointer(StreamHandle stream) { return reinterpret_cast<void*>(stream); }
StreamHandle handle(void* stream) { return StreamHandle(stream); }

}  // namespace

StreamAccelerator* stream_accelerator(DeviceType type) noexcept {
  return dynamic_cast<StreamAccelerator*>(find_accelerator(type));
}

// ---- devices ----

void StreamAccelerator::initialize() {
  if (is_initialized()) [[likely]] {
    MT_CHECK(!forked_, "Cannot re-initialize ", title(), " in forked subprocess. To use ", title(),
             " with multiprocessing, you must use the 'spawn' start method");
    return;
  }
  // Loading libraries may need Python's lock, so a driver takes its own lock, and ours comes afterwards.
  const int count = driver_.initialize();
  std::lock_guard guard(mutex_);
  if (initialized_) return;
  count_ = std::min(count, kMaxDevices);
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, AfterFork::in_child); });
  initialized_.store(true, std::memory_order_release);
}

void StreamAccelerator::open(int device) {
  initialize();
  MT_CHECK(device >= 0 && device < count_, "Invalid ", title(), " device index ", device, ": there ",
           count_ == 1 ? "is 1 device" : join_text("are ", int(count_), " devices"), ".");
  if (is_open(device)) return;
  std::lock_guard guard(mutex_);
  if (is_open(device)) return;
  int& active = thread_state().current[int(slot_)].active;
  const int previous = std::exchange(active, -1);
  try {
    const StreamHandle stream = driver_.open(device);
    active = device;
    g_default_streams[int(slot_)][size_t(device)].store(pointer(stream), std::memory_order_release);
  } catch (const Error&) {
    if (previous >= 0) {
      driver_.activate(previous);
      active = previous;
    }
    throw;
  }
}

void StreamAccelerator::activate_slowly(int device) {
  open(device);
  int& active = thread_state().current[int(slot_)].active;
  if (active == device) return;
  driver_.activate(device);
  active = device;
}

bool StreamAccelerator::is_available() {
  try {
    initialize();
    return true;
  } catch (const Error&) { return false; }
}

int StreamAccelerator::device_count() {
  initialize();
  return count_;
}

Device StreamAccelerator::resolve(Device device) {
  const CurrentDevice& now = thread_state().current[int(slot_)];
  const int index = device.index < 0 ? now.index : device.index;
  // Also after a fork: the thread has no device then, and opening says why.
  if (now.active != index) [[unlikely]]
    activate_slowly(index);
  return {slot_, int8_t(index)};
}

void StreamAccelerator::set_device(int device) {
  activate(device);
  set_current_device({slot_, int8_t(device)});
}

MemoryInfo StreamAccelerator::memory_info(int device) {
  activate(device);
  return driver_.memory_info();
}

Generator* StreamAccelerator::new_generator(int device) {
  return new CounterGenerator({slot_, int8_t(device)}, CounterGenerator::kDefaultSeed);
}

// ---- waiting ----

void StreamAccelerator::report_wait() {
  switch (sync_debug_mode.load(std::memory_order_relaxed)) {
    case SyncDebugMode::off: return;
    case SyncDebugMode::warn: return warn(join_text("called a synchronizing ", title(), " operation"));
    case SyncDebugMode::error: fail(ErrorKind::runtime, "called a synchronizing ", title(), " operation");
  }
}

void StreamAccelerator::replace_default_wait(int device, std::function<void()> wait) {
  MT_CHECK_AS(value, device >= 0 && device < kMaxDevices, "device index ", device, " is outside 0 … ",
              kMaxDevices - 1);
  std::lock_guard guard(mutex_);
  waits_replaced_[size_t(device)].store(bool(wait), std::memory_order_release);
  replaced_waits_[size_t(device)] = std::move(wait);
}

// Calls what replaces the wait for the device's default stream; false when nothing does.
bool StreamAccelerator::wait_was_replaced(int device) {
  if (!waits_replaced_[size_t(device)].load(std::memory_order_acquire)) [[likely]]
    return false;
  std::function<void()> wait;
  {
    std::lock_guard guard(mutex_);
    wait = replaced_waits_[size_t(device)];
  }
  if (wait) wait();
  return bool(wait);
}

void StreamAccelerator::wait_for_data(int device, void* stream) {
  if (stream == opened_default_stream({slot_, int8_t(device)}) && wait_was_replaced(device))
    return report_wait();
  const HostWork without_lock(kLongWork);
  synchronize_stream(device, stream);
}

void StreamAccelerator::synchronize(int device) {
  activate(device);
  refuse_in_captures_of(device);
  {
    TaskScope scope(
        {TaskKind::device_sync, driver_.calls().synchronize_device, "Context Sync", {slot_, int8_t(device)}});
    const HostWork without_lock(kLongWork);
    wait_and_check(device, [&] { driver_.synchronize_device(); });
  }
  note_waited(nullptr);
  wait_was_replaced(device);
}

void StreamAccelerator::synchronize_stream(int device, void* stream) {
  report_wait();
  activate(device);
  stream = or_default(device, stream);
  refuse_in_capture(device, stream, "the host waits for a stream that records and does not run");
  TaskScope scope({TaskKind::stream_sync,
                   driver_.calls().synchronize_stream,
                   "Stream Sync",
                   {slot_, int8_t(device)},
                   stream});
  wait_and_check(device, [&] { driver_.synchronize_stream(handle(stream)); });
  note_waited(stream);
}

bool StreamAccelerator::stream_is_idle(int device, void* stream) {
  activate(device);
  stream = or_default(device, stream);
  refuse_in_capture(device, stream, "a stream that records and does not run is asked whether it is done");
  return driver_.stream_is_idle(handle(stream));
}

// ---- graphs ----

bool StreamAccelerator::stream_is_capturing(int device, void* stream) {
  if (!is_open(device)) return false;
  activate(device);
  return driver_.capture_state(handle(or_default(device, stream))).status != runtime::CaptureStatus::none;
}

void StreamAccelerator::add_capture(DeviceGraph& graph) {
  std::lock_guard guard(capture_mutex_);
  captures_.push_back(&graph);
  capture_count_.fetch_add(1);
}

void StreamAccelerator::remove_capture(DeviceGraph& graph) {
  std::lock_guard guard(capture_mutex_);
  capture_count_.fetch_sub(int(std::erase(captures_, &graph)));
}

DeviceGraph* StreamAccelerator::find_capture(int device, void* stream) {
  if (!is_open(device)) return nullptr;
  activate(device);
  const runtime::CaptureState state = driver_.capture_state(handle(or_default(device, stream)));
  if (state.status == runtime::CaptureStatus::none) return nullptr;
  std::lock_guard guard(capture_mutex_);
  for (DeviceGraph* graph : captures_)
    if (graph->device() == device && graph->capture_id() == state.id) return graph;
  return nullptr;
}

void StreamAccelerator::refuse(DeviceGraph& graph, const char* what) {
  graph.invalidate(what);
  fail(ErrorKind::runtime, title(), " error: operation not permitted when stream is capturing: ", what,
       ". What waits for the device or reads its values (item(), cpu(), print, synchronize(), conditions on "
       "values) belongs outside the capture.");
}

void StreamAccelerator::refuse_in_captures_of(int device) {
  if (capture_count_.load(std::memory_order_acquire) == 0) [[likely]]
    return;
  DeviceGraph* found = nullptr;
  {
    std::lock_guard guard(capture_mutex_);
    for (DeviceGraph* graph : captures_)
      if (graph->device() == device && graph->concerns(std::this_thread::get_id())) found = graph;
  }
  if (found) refuse(*found, "the host waits for a device of which a stream records and does not run");
}

// ---- streams ----

void* StreamAccelerator::or_default(int device, void* stream) {
  return stream ? stream : opened_default_stream({slot_, int8_t(device)});
}

void* StreamAccelerator::default_stream(int device) {
  open(device);
  return opened_default_stream({slot_, int8_t(device)});
}

void* StreamAccelerator::pooled_stream(int device, int priority) {
  activate(device);
  return pointer(streams_.take(device, priority, [&] { return driver_.create_stream(priority); }));
}

void* StreamAccelerator::new_stream(int device) {
  activate(device);
  return pointer(streams_.keep(device, driver_.create_stream(0)));
}

int StreamAccelerator::device_of_stream(void* stream) {
  for (int device = 0; device < kMaxDevices; ++device)
    if (stream == opened_default_stream({slot_, int8_t(device)})) return device;
  return streams_.device_of(handle(stream), current_device());
}

void StreamAccelerator::wait(int device, void* waiting, void* finished) {
  waiting = or_default(device, waiting);
  finished = or_default(device, finished);
  // What finished may be a stream of another device: a gradient goes back to where its value came from.
  if (waiting != finished) wait_across(device, waiting, device_of_stream(finished), finished);
}

void StreamAccelerator::wait_across(int waiting_device, void* waiting, int finished_device, void* finished) {
  const EventHandle event = create_event(finished_device, {});
  try {
    record_event(event, finished_device, finished);
    make_stream_wait(waiting_device, waiting, event);
  } catch (const Error&) {
    destroy_event(event);
    throw;
  }
  // Recording it anew for someone else makes a new version; the wait keeps this one.
  destroy_event(event);
}

// ---- events ----

EventHandle StreamAccelerator::create_event(int device, EventOptions options) {
  activate(device);
  const runtime::EventPool::Kind kind{device, options};
  if (const EventHandle event = events_.take(kind)) return event;
  const EventHandle event = driver_.create_event(options);
  events_.add(event, kind);
  return event;
}

void StreamAccelerator::destroy_event(EventHandle event) {
  if (!events_.kind_of(event).options.interprocess) return events_.give(event);
  // Others may hold it, so it is not used again.
  activate(events_.kind_of(event).device);
  events_.forget(event);
  driver_.destroy_event(event);
}

void StreamAccelerator::record_event(EventHandle event, int device, void* stream) {
  activate(device);
  stream = or_default(device, stream);
  // An event that no stream waits for is there to tell a time. A recorded one never gets any.
  MT_CHECK(!capture_of(device, stream) || events_.kind_of(event).options.cross_stream,
           "an event that measures a stream cannot be captured");
  TaskScope scope({TaskKind::record_event,
                   driver_.calls().record_event,
                   "Event Record",
                   {slot_, int8_t(device)},
                   stream,
                   pointer(event)});
  driver_.record_event(event, handle(stream));
}

bool StreamAccelerator::event_is_complete(EventHandle event) {
  activate(events_.kind_of(event).device);
  return driver_.event_is_complete(event);
}

void StreamAccelerator::synchronize_event(EventHandle event) {
  const int device = events_.kind_of(event).device;
  activate(device);
  TaskScope scope({TaskKind::event_sync,
                   driver_.calls().synchronize_event,
                   "Event Sync",
                   {slot_, int8_t(device)},
                   nullptr,
                   pointer(event)});
  wait_and_check(device, [&] { driver_.synchronize_event(event); });
}

void StreamAccelerator::make_stream_wait(int device, void* stream, EventHandle event) {
  activate(device);
  stream = or_default(device, stream);
  TaskScope scope({TaskKind::stream_wait,
                   driver_.calls().stream_wait_event,
                   "Stream Wait Event",
                   {slot_, int8_t(device)},
                   stream,
                   pointer(event)});
  driver_.make_stream_wait(handle(stream), event);
}

float StreamAccelerator::elapsed_ms(EventHandle begin, EventHandle end) {
  activate(events_.kind_of(begin).device);
  return driver_.elapsed_ms(begin, end);
}

int64_t StreamAccelerator::event_time_us(EventHandle event) {
  activate(events_.kind_of(event).device);
  return driver_.event_time_us(event);
}

std::string StreamAccelerator::export_event(EventHandle event) {
  activate(events_.kind_of(event).device);
  return driver_.export_event(event);
}

EventHandle StreamAccelerator::import_event(int device, const std::string& bytes) {
  activate(device);
  const EventHandle event = driver_.import_event(bytes);
  events_.add(event, {device, {.interprocess = true}});
  return event;
}

}  // namespace mt::devices
