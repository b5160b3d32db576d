#include "profiler/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/per_thread.h"
#include "profiler/inputs.h"
#include "profiler/now.h"

namespace mt::profiler {
namespace {

int64_t epoch_offset_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count() - now_ns();
}

const char* copy_name(Chunk& chunk, std::string_view name, std::string_view prefix = {}) {
  auto* text = static_cast<char*>(chunk.allocate(prefix.size() + name.size() + 1));
  prefix.copy(text, prefix.size());
  name.copy(text + prefix.size(), name.size());
  text[prefix.size() + name.size()] = '\0';
  return text;
}

constexpr Device kHost{};

// The accelerator of the first tensor that is on one; else the host.
Device device_of(ObservedArguments arguments) {
  for (const ObservedArgument& argument : arguments) {
    const auto* tensors = static_cast<const Tensor*>(argument.pointer);
    const bool one = argument.kind == ObservedArgument::Kind::tensor;
    const size_t count = one ? 1 : argument.kind == ObservedArgument::Kind::tensors ? argument.size : 0;
    for (size_t i = 0; i < count; ++i)
      if (tensors[i].defined() && tensors[i].device().is_accelerator()) return tensors[i].device();
  }
  return kHost;
}

// The call to the device that this thread is in. While it is open, calls inside it (the profiler's own among them) are
// not recorded.
struct OpenTask {
  bool open = false;
  uint64_t session = 0;
  Task task;
  DeviceTimes::Events events;
  TaskTracer* tracer = nullptr;  // which was told
};
constinit PerThread<OpenTask> t_task;

bool runs_on_stream(TaskKind kind) {
  return kind == TaskKind::kernel || kind == TaskKind::copy || kind == TaskKind::fill ||
         kind == TaskKind::stream_wait;
}

// And those besides that a device does something for, which its vendor may tell of.
bool launches_work(TaskKind kind) { return runs_on_stream(kind) || kind == TaskKind::host_copy; }

struct BufferOwner {
  std::shared_ptr<ThreadBuffer> buffer;
  ~BufferOwner() {
    if (buffer) buffer->finish();
  }
};
constinit PerThread<BufferOwner> t_owner;

}  // namespace

uint64_t Trace::size() const {
  uint64_t total = 0;
  for (const ThreadEvents& thread : threads) total += thread.count;
  return total;
}

int64_t Trace::end_of(const Event& event) const {
  const int64_t end = event.end_ns.load(std::memory_order_acquire);
  return end == 0 || end > stop_ns ? std::max(stop_ns, event.start_ns) : end;
}

Recorder& Recorder::get() {
  static auto* recorder = new Recorder;
  return *recorder;
}

uint64_t Recorder::start(RecordOptions options) {
  std::lock_guard guard(mutex_);
  if (recording()) {  // what it has so far is dropped
    set_observer(nullptr);
    finish_tasks();
  }
  std::erase_if(buffers_, [](const auto& buffer) { return buffer->finished(); });
  ops_.store(options.ops, std::memory_order_relaxed);
  tasks_.store(options.tasks, std::memory_order_relaxed);
  shapes_.store(options.shapes, std::memory_order_relaxed);
  memory_.store(options.memory, std::memory_order_relaxed);
  stacks_.store(options.stacks && stack_reader_.load(), std::memory_order_relaxed);
  host_allocated_.store(0, std::memory_order_relaxed);
  {
    std::lock_guard recorded(recorded_mutex_);
    recorded_.clear();  // what was recorded earlier is not in the trace
  }
  current_ = Trace{};
  current_.options = options;
  current_.epoch_offset_ns = epoch_offset_ns();
  current_.start_ns = now_ns();
  started_ns_.store(current_.start_ns, std::memory_order_relaxed);
  if (options.tasks) tracers_.start();
  session_.store(++last_session_, std::memory_order_release);
  set_observer(this);
  return last_session_;
}

Trace Recorder::stop(uint64_t session) {
  std::lock_guard guard(mutex_);
  if (session_.load(std::memory_order_relaxed) != session) {
    Trace nothing;
    nothing.taken_over = true;
    nothing.epoch_offset_ns = epoch_offset_ns();
    nothing.start_ns = nothing.stop_ns = now_ns();
    return nothing;
  }
  set_observer(nullptr);
  session_.store(0, std::memory_order_release);
  current_.stop_ns = now_ns();
  for (const auto& buffer : buffers_) {
    if (buffer->session() != session) continue;
    current_.threads.push_back(buffer->events());
    // Other threads let go of their chunks when they record again or end.
    if (buffer == t_owner->buffer) buffer->reset(0);
  }
  if (current_.options.tasks) finish_tasks();
  return std::move(current_);
}

void Recorder::finish_tasks() {
  current_.tasks = device_.finish();
  tracers_.finish(current_.tasks, current_.start_ns, current_.texts, current_.problems);
}

void Recorder::forget() {
  set_observer(nullptr);
  session_.store(0, std::memory_order_release);
  tracers_.forget();
}

void Recorder::collect(bool enable, bool ops, bool tasks) {
  std::lock_guard guard(mutex_);
  if (ops) ops_.store(enable, std::memory_order_relaxed);
  if (!tasks) return;
  tasks_.store(enable, std::memory_order_relaxed);
  tracers_.collect(enable);
}

ThreadBuffer* Recorder::this_thread() {
  BufferOwner& owner = *t_owner;
  if (!owner.buffer) [[unlikely]] {
    std::lock_guard guard(mutex_);
    owner.buffer = std::make_shared<ThreadBuffer>(syscall(SYS_gettid), ++last_thread_);
    buffers_.push_back(owner.buffer);
  }
  return owner.buffer.get();
}

ThreadBuffer* Recorder::joined_thread() {
  const uint64_t session = session_.load(std::memory_order_acquire);
  if (session == 0) return nullptr;
  ThreadBuffer* buffer = this_thread();
  buffer->join(session);
  return buffer;
}

int64_t Recorder::read_memory(Device device) const {
  if (!device.is_accelerator()) return host_allocated_.load(std::memory_order_relaxed);
  Accelerator* there = find_accelerator(device.type);
  return there ? there->allocated_bytes(device.index) : kUnknown;
}

ThreadBuffer* Recorder::buffer_for_op() {
  ThreadBuffer* buffer = this_thread();
  // The session may have ended between the caller's look at g_observer and here. Its end() will come all the same.
  if (joined_thread() && ops_.load(std::memory_order_relaxed)) return buffer;
  buffer->push({nullptr, -1, true});
  return nullptr;
}

// Not published, and without a start.
ThreadBuffer::Slot Recorder::open_event(ThreadBuffer& buffer, EventKind kind, const char* name) {
  const ThreadBuffer::Open* outer = buffer.innermost();
  const int32_t parent = outer && outer->event ? outer->index : -1;
  const ThreadBuffer::Slot slot = buffer.next();
  slot.event->name = name;
  slot.event->parent = parent;
  slot.event->step = step_.load(std::memory_order_relaxed);
  slot.event->kind = kind;
  return slot;
}

void Recorder::begin(const OpInfo& op, ObservedArguments arguments) {
  ThreadBuffer* buffer = buffer_for_op();
  if (!buffer) return;
  const auto [event, index] = open_event(*buffer, EventKind::op, op.name);
  event->overload = op.overload;
  if (shapes_.load(std::memory_order_relaxed)) event->inputs = encode_inputs(*buffer->chunk(), arguments);
  if (stacks_.load(std::memory_order_relaxed)) event->stack = stack_reader_.load(std::memory_order_relaxed)();
  buffer->push({event, index, true});
  const bool memory = memory_.load(std::memory_order_relaxed);
  if (memory) event->memory_before.store(read_memory(kHost), std::memory_order_relaxed);
  if (const Device device = device_of(arguments); device.is_accelerator())
    ran_on(*buffer, device, memory ? read_memory(device) : kUnknown);
  event->start_ns = now_ns();
  buffer->publish();
}

void Recorder::end() {
  if (Event* event = this_thread()->pop_op()) close(*event);
}

// The operators that are open all led to the node.
void Recorder::node_made(uint64_t sequence) {
  const std::vector<ThreadBuffer::Open>& open = this_thread()->open();
  for (size_t i = open.size(); i-- > 0;) {
    Event* event = open[i].event;
    if (!event || event->kind == EventKind::run || event->kind == EventKind::visit) return;
    if (event->kind != EventKind::op) continue;
    if (event->number.load(std::memory_order_relaxed) >= 0) return;
    event->number.store(int64_t(sequence), std::memory_order_relaxed);
  }
}

void Recorder::begin_node(EventKind kind, std::string_view prefix, std::string_view name,
                          std::optional<uint64_t> sequence, ObservedArguments arguments) {
  ThreadBuffer* buffer = buffer_for_op();
  if (!buffer) return;
  const auto [event, index] = open_event(*buffer, kind, "");
  event->name = copy_name(*buffer->chunk(), name, prefix);
  if (sequence) event->number.store(int64_t(*sequence), std::memory_order_relaxed);
  if (shapes_.load(std::memory_order_relaxed)) event->inputs = encode_inputs(*buffer->chunk(), arguments);
  buffer->push({event, index, true});
  if (memory_.load(std::memory_order_relaxed))
    event->memory_before.store(read_memory(kHost), std::memory_order_relaxed);
  event->start_ns = now_ns();
  buffer->publish();
}

void Recorder::begin_visit(std::string_view node, std::optional<uint64_t> sequence) {
  begin_node(EventKind::visit, "autograd::engine::evaluate_function: ", node, sequence, {});
}

void Recorder::begin_run(std::string_view node, std::optional<uint64_t> sequence, TensorList gradients) {
  if (!shapes_.load(std::memory_order_relaxed)) return begin_node(EventKind::run, "", node, sequence, {});
  const std::vector<ObservedArgument> shown(gradients.begin(), gradients.end());
  begin_node(EventKind::run, "", node, sequence, shown);
}

OpenScope Recorder::begin_scope(std::string_view name, EventKind kind, std::string_view details) {
  ThreadBuffer* buffer = joined_thread();
  if (!buffer || !ops_.load(std::memory_order_relaxed)) return {nullptr, nullptr};
  const auto [event, index] = open_event(*buffer, kind, "");
  event->name = copy_name(*buffer->chunk(), name);
  if (!details.empty()) event->details = copy_name(*buffer->chunk(), details);
  if (stacks_.load(std::memory_order_relaxed)) event->stack = stack_reader_.load(std::memory_order_relaxed)();
  buffer->push({event, index, false});
  if (memory_.load(std::memory_order_relaxed))
    event->memory_before.store(read_memory(kHost), std::memory_order_relaxed);
  event->start_ns = now_ns();
  buffer->publish();
  return {buffer->chunk(), event};
}

void Recorder::end_scope(const OpenScope& scope) {
  if (!scope.event) return;
  this_thread()->remove(scope.event);
  close(*scope.event);
}

void Recorder::open_call(const char* name, const void* frame, int64_t start_ns) {
  ThreadBuffer* buffer = joined_thread();
  if (!buffer || !ops_.load(std::memory_order_relaxed)) return;
  const auto [event, index] = open_event(*buffer, EventKind::python, name);
  buffer->push({event, index, false, frame});
  if (memory_.load(std::memory_order_relaxed))
    event->memory_before.store(read_memory(kHost), std::memory_order_relaxed);
  event->start_ns = start_ns ? start_ns : now_ns();
  buffer->publish();
}

void Recorder::end_call(const void* frame) {
  this_thread()->pop_call(frame, [this](Event& event) { close(event); });
}

bool Recorder::wants_callers() {
  ThreadBuffer* buffer = joined_thread();
  return buffer && buffer->first_call();
}

void Recorder::close(Event& event) const {
  if (memory_.load(std::memory_order_relaxed))
    event.memory_after.store(read_memory(event.device.load(std::memory_order_relaxed)),
                             std::memory_order_relaxed);
  event.end_ns.store(now_ns(), std::memory_order_release);
}

void Recorder::host_memory_changed(const void* address, int64_t bytes) {
  if (!memory_.load(std::memory_order_relaxed)) return;
  const int64_t total = host_allocated_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  memory_changed(kHost, {uint64_t(reinterpret_cast<uintptr_t>(address)), bytes, total, 0});
}

void Recorder::memory_changed(Device device, const MemoryChange& change) {
  if (!memory_.load(std::memory_order_relaxed)) return;
  ThreadBuffer* buffer = joined_thread();
  if (!buffer) return;
  // An operator without tensor inputs shows only here where it runs. A free says nothing: it may be anyone's.
  const int64_t before = change.total_allocated - (change.address ? change.bytes : 0);
  if (change.bytes > 0 && device.is_accelerator()) ran_on(*buffer, device, before);
  const char* name = change.address ? "[memory]" : "[OutOfMemory]";
  Event* event = open_event(*buffer, EventKind::memory, name).event;
  event->device.store(device, std::memory_order_relaxed);
  event->bytes = change.bytes;
  event->number.store(int64_t(change.address), std::memory_order_relaxed);
  event->memory_after.store(change.total_allocated, std::memory_order_relaxed);
  event->total_reserved = change.total_reserved;
  event->start_ns = now_ns();
  event->end_ns.store(event->start_ns, std::memory_order_relaxed);
  buffer->publish();
}

bool Recorder::begin_task(const TaskInfo& info) {
  if (t_task->open || !tasks_.load(std::memory_order_relaxed)) return false;
  ThreadBuffer* buffer = joined_thread();
  if (!buffer) return false;
  TaskTracer* tracer = launches_work(info.kind) ? tracers_.of(info.device.type) : nullptr;
  t_task->open = true;
  t_task->session = session_.load(std::memory_order_relaxed);
  const int64_t correlation = last_correlation_.fetch_add(1, std::memory_order_relaxed) + 1;
  int64_t awaited = -1;
  if (info.event) {
    std::lock_guard guard(recorded_mutex_);
    if (info.kind == TaskKind::record_event) recorded_[info.event] = correlation;
    else if (const auto found = recorded_.find(info.event); found != recorded_.end()) awaited = found->second;
  }
  ran_on(*buffer, info.device, memory_.load(std::memory_order_relaxed) ? read_memory(info.device) : kUnknown);
  const auto [event, index] = open_event(*buffer, EventKind::call, info.call);
  event->number.store(correlation, std::memory_order_relaxed);
  event->device.store(info.device, std::memory_order_relaxed);
  buffer->push({event, index, true});
  t_task->task = {info.kind,  info.call,   info.name, info.device,      StreamHandle(info.stream),
                  info.bytes, correlation, awaited,   buffer->number(), event->parent};
  t_task->task.one_kernel = info.one_kernel;
  t_task->task.traced = tracer != nullptr;
  t_task->tracer = tracer;
  const bool measured = !tracer && runs_on_stream(info.kind);
  t_task->events = measured ? device_.begin(info) : DeviceTimes::Events{};
  if (tracer) tracer->enter(correlation, info);
  event->start_ns = t_task->task.launch_ns = now_ns();
  buffer->publish();
  return true;
}

void Recorder::end_task() {
  if (t_task->tracer) std::exchange(t_task->tracer, nullptr)->leave();
  Event* event = this_thread()->pop_op();
  if (event) close(*event);
  Task& task = t_task->task;
  const bool recorded = event && t_task->session == session_.load(std::memory_order_relaxed);
  if (!recorded) {
    device_.give_back(task.device, t_task->events);
  } else if (runs_on_stream(task.kind) && !(task.traced && task.kind == TaskKind::stream_wait)) {
    device_.end(task, t_task->events);
  } else if (task.kind != TaskKind::record_event) {
    task.start_ns = event->start_ns;
    task.end_ns = event->end_ns.load(std::memory_order_relaxed);
    device_.add(task);
  }
  t_task->open = false;
}

// What is open on this thread runs on the device, as far as it is not known to already. Whoever learns it tells all
// that is around it, so the first that knows ends the walk.
void Recorder::ran_on(ThreadBuffer& buffer, Device device, int64_t memory_before) {
  std::vector<ThreadBuffer::Open>& open = buffer.open();
  for (size_t i = open.size(); i-- > 0;) {
    Event* event = open[i].event;
    if (!event || event->device.load(std::memory_order_relaxed).is_accelerator()) return;
    event->memory_before.store(memory_before, std::memory_order_relaxed);
    event->device.store(device, std::memory_order_relaxed);
  }
}

}  // namespace mt::profiler
