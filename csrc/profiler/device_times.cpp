#include "profiler/device_times.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "profiler/now.h"

namespace mt::profiler {
namespace {

constexpr float kExactMs = 16;  // up to here a float of milliseconds tells nanoseconds apart
constexpr int kLooks = 5;       // at the clock; the shortest counts
constexpr int64_t kShortSession =
    1'000'000'000;  // ns; drift is smaller than what a look at the clock is off by
constexpr size_t kReadAt = 256, kReadEvery = 64;  // pending tasks

}  // namespace

EventHandle DeviceTimes::take(Device device, DeviceState& state) {
  if (state.spare.empty())
    return accelerator(device.type).create_event(device.index, {.timing = true, .cross_stream = false});
  const EventHandle event = state.spare.back();
  state.spare.pop_back();
  return event;
}

DeviceTimes::Anchor DeviceTimes::look_at_clock(Device device, DeviceState& state) {
  Accelerator& there = accelerator(device.type);
  if (!state.clock_stream) state.clock_stream = there.new_stream(device.index);
  Anchor best;
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < kLooks; ++i) {
    const EventHandle event = take(device, state);
    const int64_t before = now_ns();
    there.record_event(event, device.index, state.clock_stream);
    there.synchronize_event(event);
    const int64_t took = now_ns() - before;
    if (took >= shortest) {
      state.spare.push_back(event);
      continue;
    }
    if (best.event) state.spare.push_back(best.event);
    shortest = took;
    best = {event, before + took / 2};
  }
  return best;
}

int64_t DeviceTimes::elapsed_ns(Accelerator& there, EventHandle begin, EventHandle end) {
  const float ms = there.elapsed_ms(begin, end);
  if (std::abs(ms) < kExactMs) return std::llround(double(ms) * 1e6);
  return (there.event_time_us(end) - there.event_time_us(begin)) * 1000;
}

// A failing device is reported by the launch itself and by the next wait; here it only leaves times unknown.
DeviceTimes::Events DeviceTimes::begin(const TaskInfo& task) {
  std::lock_guard guard(mutex_);
  DeviceState& state = devices_[task.device];
  const auto stream = StreamHandle(task.stream);
  if (state.streams[stream].pending.size() >= kMostPending) return {};
  Events events;
  try {
    if (!state.anchor.event) state.anchor = look_at_clock(task.device, state);
    events = {take(task.device, state), take(task.device, state)};
    accelerator(task.device.type).record_event(events.begin, task.device.index, task.stream);
    return events;
  } catch (const Error&) {
    if (events.begin) state.spare.insert(state.spare.end(), {events.begin, events.end});
    return {};
  }
}

void DeviceTimes::end(const Task& task, Events events) {
  std::lock_guard guard(mutex_);
  const size_t index = tasks_.size();
  tasks_.push_back(task);
  if (!events.begin) return;
  DeviceState& state = devices_[task.device];
  StreamState& stream = state.streams[task.stream];
  try {
    Accelerator& there = accelerator(task.device.type);
    there.record_event(events.end, task.device.index, reinterpret_cast<void*>(task.stream));
    stream.pending.push_back({index, events});
    const size_t waiting = stream.pending.size();
    if (waiting >= kReadAt && waiting % kReadEvery == 0) read_reached(there, state, stream);
  } catch (const Error&) { state.spare.insert(state.spare.end(), {events.begin, events.end}); }
}

void DeviceTimes::give_back(Device device, Events events) {
  if (!events.begin) return;
  std::lock_guard guard(mutex_);
  std::vector<EventHandle>& spare = devices_[device].spare;
  spare.insert(spare.end(), {events.begin, events.end});
}

void DeviceTimes::add(const Task& task) {
  std::lock_guard guard(mutex_);
  tasks_.push_back(task);
}

void DeviceTimes::read_reached(Accelerator& there, DeviceState& state, StreamState& stream) {
  while (!stream.pending.empty() && there.event_is_complete(stream.pending.front().events.end))
    resolve(there, state, stream);
}

// The oldest task of the stream, which is done.
void DeviceTimes::resolve(Accelerator& there, DeviceState& state, StreamState& stream) {
  const auto [index, events] = stream.pending.front();
  stream.pending.pop_front();
  Task& task = tasks_[index];
  const int64_t begin = stream.last_end
                            ? stream.last_end_ns + elapsed_ns(there, stream.last_end, events.begin)
                            : state.anchor.host_ns + elapsed_ns(there, state.anchor.event, events.begin);
  // Nothing happens before it was asked for, whatever the clocks say, nor before what the stream did last.
  task.start_ns = std::max({begin, task.launch_ns, stream.last_end_ns});
  task.end_ns = std::max(begin + elapsed_ns(there, events.begin, events.end), task.start_ns);
  state.spare.push_back(events.begin);
  if (stream.last_end) state.spare.push_back(stream.last_end);
  stream.last_end = events.end;
  stream.last_end_ns = task.end_ns;
}

void DeviceTimes::correct_drift(Device device, DeviceState& state) {
  const Anchor last = look_at_clock(device, state);
  const int64_t on_host = last.host_ns - state.anchor.host_ns;
  const int64_t on_device = elapsed_ns(accelerator(device.type), state.anchor.event, last.event);
  state.spare.push_back(last.event);
  if (on_device < kShortSession) return;
  const double rate = double(on_host) / double(on_device) - 1;
  for (Task& task : tasks_) {
    if (task.device != device || task.start_ns == 0) continue;
    for (int64_t* time : {&task.start_ns, &task.end_ns})
      *time += std::llround(double(*time - state.anchor.host_ns) * rate);
    task.start_ns = std::max(task.start_ns, task.launch_ns);
    task.end_ns = std::max(task.end_ns, task.start_ns);
  }
}

std::vector<Task> DeviceTimes::finish() {
  std::lock_guard guard(mutex_);
  for (auto& [device, state] : devices_) {
    try {
      Accelerator& there = accelerator(device.type);
      for (auto& [handle, stream] : state.streams) {
        if (stream.pending.empty()) continue;
        there.synchronize_event(stream.pending.back().events.end);
        while (!stream.pending.empty()) resolve(there, state, stream);
      }
      if (state.anchor.event) correct_drift(device, state);
    } catch (const Error&) {
      // The device has failed, which whoever waits for it will hear. What is not known by now stays unknown.
    }
  }
  std::vector<Task> tasks = std::move(tasks_);
  tasks_.clear();
  for (auto& [device, state] : devices_) {
    for (auto& [handle, stream] : state.streams) {
      for (const Pending& left : stream.pending)
        state.spare.insert(state.spare.end(), {left.events.begin, left.events.end});
      if (stream.last_end) state.spare.push_back(stream.last_end);
    }
    state.streams.clear();
    if (state.anchor.event) state.spare.push_back(std::exchange(state.anchor, {}).event);
  }
  return tasks;
}

}  // namespace mt::profiler
