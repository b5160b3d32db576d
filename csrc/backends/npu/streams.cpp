// Streams and events of the NPU.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "backends/npu/launch_log.h"
#include "backends/npu/npu_runtime.h"
#include "backends/npu/stream_device.h"
#include "base/error.h"
#include "core/observe_task.h"

namespace mt::npu {

using runtime::EventHandle;
using runtime::EventOptions;
using runtime::Stream;

namespace {

void* handle_of(const Stream& stream) {
  return stream.handle ? reinterpret_cast<void*>(stream.handle) : npu().default_stream_handle(stream.device);
}

// Events are made once and reused: creating one costs more than recording it. An event belongs to its device.
class EventPool {
 public:
  struct Kind {
    int device;
    uint32_t flags;
  };

  void* take(Kind kind) {
    std::lock_guard<std::mutex> guard(mutex_);
    auto& spare = spare_[key(kind)];
    if (spare.empty()) return nullptr;
    void* event = spare.back();
    spare.pop_back();
    return event;
  }
  void add(void* event, Kind kind) {
    std::lock_guard<std::mutex> guard(mutex_);
    kinds_.emplace(event, kind);
  }
  void give(void* event) {
    std::lock_guard<std::mutex> guard(mutex_);
    spare_[key(kind_of(event))].push_back(event);
  }
  void forget(void* event) {
    std::lock_guard<std::mutex> guard(mutex_);
    kinds_.erase(event);
  }
  bool is_interprocess(void* event) {
    std::lock_guard<std::mutex> guard(mutex_);
    return kind_of(event).flags == ACL_EVENT_IPC;
  }
  int device_of(void* event) {
    std::lock_guard<std::mutex> guard(mutex_);
    return kind_of(event).device;
  }

 private:
  static uint64_t key(Kind kind) { return uint64_t(kind.device) << 32 | kind.flags; }
  Kind kind_of(void* event) {
    const auto found = kinds_.find(event);
    MT_CHECK(found != kinds_.end(), "the event ", event,
             " was not made by this runtime, or it was destroyed");
    return found->second;
  }

  std::mutex mutex_;
  std::unordered_map<uint64_t, std::vector<void*>> spare_;
  std::unordered_map<void*, Kind> kinds_;
};

EventPool& events() {
  static auto* pool = new EventPool;
  return *pool;
}

// The devices of the streams made here.
class StreamDevices {
 public:
  void add(void* stream, int device) {
    std::lock_guard<std::mutex> guard(mutex_);
    devices_[stream] = device;
  }
  void remove(void* stream) {
    std::lock_guard<std::mutex> guard(mutex_);
    devices_.erase(stream);
  }
  int find(void* stream, int otherwise) {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto found = devices_.find(stream);
    return found == devices_.end() ? otherwise : found->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, int> devices_;
};

StreamDevices& stream_devices() {
  static auto* devices = new StreamDevices;
  return *devices;
}

void* pointer(EventHandle event) { return reinterpret_cast<void*>(event); }

}  // namespace

int device_of_stream(void* stream) {
  for (int device = 0; device < kMaxDevices; ++device)
    if (stream == NpuRuntime::default_stream_handle(device)) return device;
  return stream_devices().find(stream, npu().current_device());
}

Stream NpuRuntime::default_stream(int device) {
  open(device);
  return {device, 0, runtime::StreamHandle(default_stream_handle(device))};
}

Stream NpuRuntime::create_stream(int device, int priority) {
  activate(device);
  aclrtStream stream = nullptr;
  check(acl().aclrtCreateStreamWithConfig(&stream, uint32_t(std::clamp(priority, 0, kPriorities - 1)),
                                          ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC),
        "aclrtCreateStreamWithConfig");
  stream_devices().add(stream, device);
  return {device, next_stream_id_.fetch_add(1), runtime::StreamHandle(stream)};
}

Stream NpuRuntime::pooled_stream(int device, int priority) {
  activate(device);
  StreamPool& pool = pools_[size_t(device)][size_t(std::clamp(priority, 0, kPriorities - 1))];
  std::lock_guard<std::mutex> guard(mutex_);
  if (pool.streams.size() < kStreamsPerPool) {
    pool.streams.push_back(create_stream(device, priority));
    return pool.streams.back();
  }
  return pool.streams[pool.next++ % kStreamsPerPool];
}

void NpuRuntime::destroy_stream(const Stream& stream) {
  activate(stream.device);
  check(acl().aclrtDestroyStream(handle_of(stream)), "aclrtDestroyStream");
  stream_devices().remove(handle_of(stream));
}

void NpuRuntime::synchronize_stream(const Stream& stream) {
  report_wait();
  activate(stream.device);
  TaskScope scope(
      {TaskKind::stream_sync, "aclrtSynchronizeStream", "Stream Sync", stream.device, handle_of(stream)});
  check(acl().aclrtSynchronizeStream(handle_of(stream)), "aclrtSynchronizeStream");
  note_waited(handle_of(stream));
}

bool NpuRuntime::stream_is_idle(const Stream& stream) {
  activate(stream.device);
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  check(acl().aclrtStreamQuery(handle_of(stream), &status), "aclrtStreamQuery");
  return status == ACL_STREAM_STATUS_COMPLETE;
}

EventHandle NpuRuntime::create_event(int device, EventOptions options) {
  activate(device);
  const uint32_t flags =
      (options.cross_stream ? ACL_EVENT_SYNC : 0) | (options.timing ? ACL_EVENT_TIME_LINE : 0);
  // An event for other processes can be nothing else.
  const EventPool::Kind kind{device, options.interprocess ? ACL_EVENT_IPC : flags ? flags : ACL_EVENT_SYNC};
  if (void* event = events().take(kind)) return EventHandle(event);
  aclrtEvent event = nullptr;
  check(acl().aclrtCreateEventExWithFlag(&event, kind.flags), "aclrtCreateEventExWithFlag");
  events().add(event, kind);
  return EventHandle(event);
}

void NpuRuntime::destroy_event(EventHandle event) {
  if (!events().is_interprocess(pointer(event))) return events().give(pointer(event));
  // Others may hold it, so it is not used again.
  events().forget(pointer(event));
  check(acl().aclrtDestroyEvent(pointer(event)), "aclrtDestroyEvent");
}

std::string NpuRuntime::export_event(EventHandle event) {
  MT_CHECK_AS(not_implemented, acl().aclrtIpcGetEventHandle,
              "this AscendCL cannot share events between processes");
  activate(events().device_of(pointer(event)));
  aclrtIpcEventHandle shared{};
  check(acl().aclrtIpcGetEventHandle(pointer(event), &shared), "aclrtIpcGetEventHandle");
  return {shared.reserved, sizeof shared.reserved};
}

EventHandle NpuRuntime::import_event(int device, const std::string& bytes) {
  activate(device);
  MT_CHECK_AS(not_implemented, acl().aclrtIpcOpenEventHandle,
              "this AscendCL cannot share events between processes");
  aclrtIpcEventHandle shared{};
  MT_CHECK_AS(value, bytes.size() == sizeof shared.reserved, "the handle of an event has ",
              sizeof shared.reserved, " bytes, but this one has ", bytes.size());
  std::memcpy(shared.reserved, bytes.data(), bytes.size());
  aclrtEvent event = nullptr;
  check(acl().aclrtIpcOpenEventHandle(shared, &event), "aclrtIpcOpenEventHandle");
  events().add(event, {device, ACL_EVENT_IPC});
  return EventHandle(event);
}

void NpuRuntime::record_event(EventHandle event, const Stream& stream) {
  activate(stream.device);
  TaskScope scope({TaskKind::record_event, "aclrtRecordEvent", "Event Record", stream.device,
                   handle_of(stream), pointer(event)});
  check(acl().aclrtRecordEvent(pointer(event), handle_of(stream)), "aclrtRecordEvent");
}

bool NpuRuntime::event_is_complete(EventHandle event) {
  activate(events().device_of(pointer(event)));
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  check(acl().aclrtQueryEventStatus(pointer(event), &status), "aclrtQueryEventStatus");
  return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

void NpuRuntime::synchronize_event(EventHandle event) {
  const int device = events().device_of(pointer(event));
  activate(device);
  TaskScope scope(
      {TaskKind::event_sync, "aclrtSynchronizeEvent", "Event Sync", device, nullptr, pointer(event)});
  check(acl().aclrtSynchronizeEvent(pointer(event)), "aclrtSynchronizeEvent");
}

void NpuRuntime::make_stream_wait(const Stream& stream, EventHandle event) {
  activate(stream.device);
  TaskScope scope({TaskKind::stream_wait, "aclrtStreamWaitEvent", "Stream Wait Event", stream.device,
                   handle_of(stream), pointer(event)});
  check(acl().aclrtStreamWaitEvent(handle_of(stream), pointer(event)), "aclrtStreamWaitEvent");
}

float NpuRuntime::elapsed_ms(EventHandle begin, EventHandle end) {
  activate(events().device_of(pointer(begin)));
  float milliseconds = 0;
  check(acl().aclrtEventElapsedTime(&milliseconds, pointer(begin), pointer(end)), "aclrtEventElapsedTime");
  return milliseconds;
}

int64_t NpuRuntime::event_time_us(EventHandle event) {
  activate(events().device_of(pointer(event)));
  uint64_t time = 0;
  check(acl().aclrtEventGetTimestamp(pointer(event), &time), "aclrtEventGetTimestamp");
  return int64_t(time);
}

void make_wait(int device, void* waiting, void* finished) {
  // What finished may be a stream of another device: a gradient goes back to where its value came from.
  if (waiting != finished) make_wait_across(device, waiting, device_of_stream(finished), finished);
}

void make_wait_across(int waiting_device, void* waiting, int finished_device, void* finished) {
  NpuRuntime& runtime = npu();
  const EventHandle event = runtime.create_event(finished_device, {});
  try {
    runtime.record_event(event, {finished_device, 0, runtime::StreamHandle(finished)});
    runtime.make_stream_wait({waiting_device, 0, runtime::StreamHandle(waiting)}, event);
  } catch (const Error&) {
    runtime.destroy_event(event);
    throw;
  }
  // Recording it anew for someone else makes a new version; the wait keeps this one.
  runtime.destroy_event(event);
}

}  // namespace mt::npu
