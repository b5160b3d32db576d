#include "profiler/tracers.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "core/warn.h"

namespace mt::profiler {
namespace {

bool is_work(TaskKind kind) {
  return kind == TaskKind::kernel || kind == TaskKind::copy || kind == TaskKind::fill;
}

// What a device did, as a task of the call that launched it.
Task made_of(const TracedTask& found, const Task& launch) {
  Task task = launch;
  task.kind = found.kind;
  if (!launch.one_kernel || found.kind != TaskKind::kernel) task.name = found.name;
  task.details = found.details;
  if (found.kind != TaskKind::stream_wait) {
    task.device = found.device;
    task.stream = found.stream;
    task.bytes = found.bytes;
  }
  // Nothing happens before it was asked for, whatever the clocks say.
  task.start_ns = std::max(found.start_ns, launch.launch_ns);
  task.end_ns = std::max(found.end_ns, task.start_ns);
  return task;
}

}  // namespace

void Tracers::start() {
  for (int type = 0; type < kDeviceTypes; ++type) {
    Slot& slot = slots_[size_t(type)];
    slot.tracer = find_task_tracer(DeviceType(type));
    slot.state.store(slot.tracer ? State::untried : State::off, std::memory_order_release);
    if (slot.tracer && slot.tracer->in_use()) begin(slot);
  }
}

// No lock is held: the library is looked for with the help of Python, whose lock others may hold who come here. They
// measure with events meanwhile.
TaskTracer* Tracers::begin(Slot& slot) {
  State expected = State::untried;
  if (!slot.state.compare_exchange_strong(expected, State::starting, std::memory_order_acq_rel))
    return expected == State::on ? slot.tracer : nullptr;
  std::string problem;
  try {
    problem = slot.tracer->start();
  } catch (const Error& error) { problem = error.what(); }
  expected = State::starting;
  const State next = problem.empty() ? State::on : State::off;
  if (!slot.state.compare_exchange_strong(expected, next, std::memory_order_acq_rel)) {
    if (problem.empty()) slot.tracer->stop();  // the session has ended meanwhile
    return nullptr;
  }
  static std::atomic<bool> told{false};
  if (!problem.empty() && (!told.exchange(true) || g_warn_always))
    warn(
        "The profiler takes times of devices with events around each launch, which count the time of the "
        "launch where a stream is idle, and cannot tell the kernels of a library or a graph apart: " +
        problem);
  return problem.empty() ? slot.tracer : nullptr;
}

void Tracers::collect(bool enable) {
  for (Slot& slot : slots_)
    if (slot.state.load(std::memory_order_acquire) == State::on) slot.tracer->collect(enable);
}

void Tracers::forget() {
  for (Slot& slot : slots_) slot.state.store(State::off, std::memory_order_release);
}

void Tracers::finish(std::vector<Task>& tasks, int64_t session_start_ns,
                     std::vector<std::shared_ptr<const void>>& kept, std::vector<std::string>& problems) {
  std::vector<TracedTask> found;
  for (Slot& slot : slots_) {
    if (slot.state.exchange(State::off, std::memory_order_acq_rel) != State::on) continue;
    Traced traced = slot.tracer->stop();
    found.insert(found.end(), traced.tasks.begin(), traced.tasks.end());
    kept.push_back(std::move(traced.texts));
    if (!traced.problem.empty()) problems.push_back(std::move(traced.problem));
  }
  if (found.empty()) return;
  std::ranges::stable_sort(found, {}, &TracedTask::start_ns);
  std::unordered_map<int64_t, std::vector<const TracedTask*>> by_launch;
  for (const TracedTask& task : found) by_launch[task.launch].push_back(&task);

  std::vector<Task> merged;
  merged.reserve(std::max(tasks.size(), found.size()));
  for (const Task& launch : tasks) {
    const auto done = launch.traced ? by_launch.find(launch.correlation) : by_launch.end();
    bool any = false;
    if (done != by_launch.end())
      for (const TracedTask* task : done->second)
        if (is_work(task->kind) || launch.kind == TaskKind::stream_wait) {
          merged.push_back(made_of(*task, launch));
          any = true;
        }
    if (!any) merged.push_back(launch);  // a capture, or a record that was lost: its times stay as they are
  }
  // What other libraries in the process launched, or work that was there before.
  for (const TracedTask* task : by_launch[0]) {
    if (!is_work(task->kind) || task->start_ns < session_start_ns) continue;
    merged.push_back({task->kind, "", task->name, task->device, task->stream, task->bytes, 0, -1, -1, -1});
    merged.back().details = task->details;
    merged.back().start_ns = task->start_ns;
    merged.back().end_ns = task->end_ns;
  }
  tasks = std::move(merged);
}

}  // namespace mt::profiler
