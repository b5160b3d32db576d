#include "runtime/capture.h"

#include <algorithm>

#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/event.h"
#include "runtime/stream.h"

namespace softnpu {

thread_local aclmdlRICaptureMode thread_capture_mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

namespace {

// The captures in progress; guarded by capture_mutex. The count is for those who only want to know of none.
std::vector<Capture*>& active_captures() {
  static auto* instance = new std::vector<Capture*>;
  return *instance;
}
std::atomic<uint32_t> active_count{0};

// A task of the graph that stands for a call on the event's flag.
GraphNode flag_node(const char* function, aclmdlRITaskType type, std::shared_ptr<RepeatableTask> task) {
  return {function, Task::Kind::order, type, 0, std::move(task)};
}

template <class Closure>
std::shared_ptr<RepeatableTask> repeatable(Closure closure) {
  return std::make_shared<HeldTask<Closure>>(std::move(closure));
}

// What every event must fulfil to be used in a capture.
int check_event(const char* function, const Event& event, const Capture& capture, const Stream& stream) {
  if (capture.invalidated)
    return fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, function, ": the capture of stream ", stream.id,
                " has become invalid; end it");
  if (event.interprocess() || (event.kind == EventKind::with_flag && !event.external()))
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, function, ": event ", event.id,
                " cannot be captured; wanted one of aclrtCreateEventExWithFlag, or an external one");
  const auto member = capture.members.find(stream.id);
  if (member != capture.members.end() && member->second.in_group)
    return fail(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, function,
                ": a task group holds operators only, no events; end it first");
  return 0;
}

int refuse_in_update(const char* function, const Stream& stream) {
  return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, function, ": stream ", stream.id,
              " is between aclmdlRICaptureTaskUpdateBegin and ...End, where only operators are launched");
}

}  // namespace

std::mutex& capture_mutex() {
  static auto* instance = new std::mutex;
  return *instance;
}

Capture::Capture(Stream& first, std::shared_ptr<Graph> into, aclmdlRICaptureMode capture_mode)
    : origin(&first), graph(std::move(into)), mode(capture_mode), thread(std::this_thread::get_id()) {
  members.emplace(first.id, Member{.stream = &first, .seen = {}, .group = {}});
}

Capture::Member& Capture::member(const Stream& stream) { return members.at(stream.id); }

void Capture::join(Stream& stream) {
  members.emplace(stream.id, Member{.stream = &stream, .seen = {}, .group = {}});
}

void Capture::add(const Stream& stream, GraphNode node) {
  Member& recorded = member(stream);
  if (node.type != ACL_MODEL_RI_TASK_EVENT_RECORD) ++recorded.seen[stream.id];
  if (recorded.in_group) recorded.group.push_back(graph->size());
  node.stream = stream.id;
  graph->add(std::move(node));
}

bool Capture::all_joined() const {
  const Clock& end = members.at(origin->id).seen;
  return std::all_of(members.begin(), members.end(), [&](const auto& entry) {
    const auto done = entry.second.seen.find(entry.first);
    if (done == entry.second.seen.end()) return true;
    const auto known = end.find(entry.first);
    return known != end.end() && known->second >= done->second;
  });
}

void set_capture(Stream& stream, std::shared_ptr<Capture> capture) {
  if (capture != nullptr && &stream == capture->origin) {
    active_captures().push_back(capture.get());
    active_count.fetch_add(1);
  }
  stream.capture = std::move(capture);
  stream.set_recording(stream.capture != nullptr);
}

void finish_capture(Capture& capture) {
  active_count.fetch_sub(uint32_t(std::erase(active_captures(), &capture)));
  const std::shared_ptr<Capture> alive = capture.origin->capture;  // until all have left
  for (const auto& [id, member] : capture.members) set_capture(*member.stream, nullptr);
  capture.graph->capturing.store(false);
}

void leave_capture(Stream& stream) {
  std::shared_ptr<Graph> lost;
  {
    std::lock_guard lock(capture_mutex());
    stream.update = nullptr;
    const std::shared_ptr<Capture> capture = stream.capture;
    if (capture == nullptr) {
      stream.set_recording(false);
    } else if (capture->origin == &stream) {
      finish_capture(*capture);
      lost = capture->graph;
    } else {
      capture->invalidated = true;
      capture->members.erase(stream.id);
      set_capture(stream, nullptr);
    }
  }
  if (lost != nullptr && !lost->body) end_graph(lost);
}

bool Stream::record(const char* name, Task::Kind kind, std::shared_ptr<RepeatableTask>& task) {
  std::lock_guard lock(capture_mutex());
  if (update != nullptr) {
    update->names.push_back(name);
    update->tasks.push_back(std::move(task));
    return true;
  }
  if (capture == nullptr) return false;
  const aclmdlRITaskType type =
      kind == Task::Kind::work ? ACL_MODEL_RI_TASK_KERNEL : ACL_MODEL_RI_TASK_DEFAULT;
  capture->add(*this, {name, kind, type, id, std::move(task)});
  return true;
}

int refuse_captured(const char* function, const Stream& stream) {
  if (!stream.recording()) return 0;
  return fail(ACL_ERROR_RT_STREAM_CAPTURED, function, ": stream ", stream.id,
              " is being captured, so there is nothing to wait for");
}

int check_capture_mode(const char* function, int code) {
  if (active_count.load(std::memory_order_acquire) == 0) return 0;
  const aclmdlRICaptureMode mine = thread_capture_mode;
  std::lock_guard lock(capture_mutex());
  for (const Capture* capture : active_captures()) {
    const bool own = capture->thread == std::this_thread::get_id();
    const bool allowed = capture->mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED ||
                         mine == ACL_MODEL_RI_CAPTURE_MODE_RELAXED ||
                         (!own && (capture->mode == ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL ||
                                   mine == ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
    if (!allowed)
      return fail(code, function, ": not allowed while stream ", capture->origin->id, " is captured in mode ",
                  int(capture->mode),
                  "; see aclmdlRICaptureThreadExchangeMode (mode of this thread: ", int(mine), ")");
  }
  return 0;
}

bool capture_record(const char* function, Event& event, Stream& stream, int* code) {
  if (!stream.recording()) return false;
  std::lock_guard lock(capture_mutex());
  if (stream.update != nullptr) {
    *code = refuse_in_update(function, stream);
    return true;
  }
  if (stream.capture == nullptr) return false;
  Capture& capture = *stream.capture;
  if ((*code = check_event(function, event, capture, stream)) != 0) return true;
  std::shared_ptr<RepeatableTask> task;
  if (event.external()) task = repeatable([flag = event.flag] { flag->raise(); });
  capture.add(stream, flag_node(function, ACL_MODEL_RI_TASK_EVENT_RECORD, std::move(task)));
  if (!event.external())
    event.set_version(std::make_shared<EventVersion>(stream.capture, capture.member(stream).seen));
  return true;
}

bool capture_wait(const char* function, Event& event, Stream& stream, int* code) {
  const auto version = event.version();
  const bool captured = version != nullptr && version->captured;
  if (!stream.recording() && !captured) return false;
  std::lock_guard lock(capture_mutex());
  if (stream.update != nullptr) {
    *code = refuse_in_update(function, stream);
    return true;
  }
  if (captured) {
    const std::shared_ptr<Capture> capture = version->capture.lock();
    if (capture == nullptr || capture->origin->capture != capture) {
      *code = fail(ACL_ERROR_RT_EVENT_CAPTURED, function, ": event ", event.id,
                   " was recorded in a capture that is over; record it again");
      return true;
    }
    if ((*code = check_event(function, event, *capture, stream)) != 0) return true;
    if (&stream == stream_table().find(stream.context.default_stream_handle)) {
      *code = fail(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, function,
                   ": the default stream cannot take part in a capture");
      return true;
    }
    if (stream.capture != nullptr && stream.capture != capture) {
      *code = fail(ACL_ERROR_STREAM_CAPTURE_CONFLICT, function, ": event ", event.id, " and stream ",
                   stream.id, " belong to two different captures");
      return true;
    }
    if (stream.capture == nullptr) {
      capture->join(stream);
      set_capture(stream, capture);
    }
    Clock& seen = capture->member(stream).seen;
    for (const auto& [id, count] : version->seen) seen[id] = std::max(seen[id], count);
    capture->add(stream, flag_node(function, ACL_MODEL_RI_TASK_EVENT_WAIT, nullptr));
    return true;
  }
  if (stream.capture == nullptr) return false;
  if ((*code = check_event(function, event, *stream.capture, stream)) != 0) return true;
  if (event.external()) {
    auto task = repeatable([flag = event.flag] { flag->wait(kForever); });
    stream.capture->add(stream, flag_node(function, ACL_MODEL_RI_TASK_EVENT_WAIT, std::move(task)));
  } else if (version != nullptr) {
    *code = fail(ACL_ERROR_RT_CAPTURE_DEPENDENCY, function, ": event ", event.id,
                 " was recorded outside of the capture, so that a replay could not wait for it");
  }
  return true;
}

bool capture_reset(const char* function, Event& event, Stream& stream, int* code) {
  if (!stream.recording()) return false;
  std::lock_guard lock(capture_mutex());
  if (stream.update != nullptr) {
    *code = refuse_in_update(function, stream);
    return true;
  }
  if (stream.capture == nullptr) return false;
  if ((*code = check_event(function, event, *stream.capture, stream)) != 0) return true;
  auto task = repeatable([flag = event.flag] { flag->lower(); });
  stream.capture->add(stream, flag_node(function, ACL_MODEL_RI_TASK_EVENT_RESET, std::move(task)));
  return true;
}

}  // namespace softnpu
