#include "profiler/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"

namespace mt::profiler {
namespace {

int64_t now_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

int64_t epoch_offset_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count() - now_ns();
}

// Count, then per input: dtype (-1 for an undefined tensor, which has nothing more), dimensions, sizes, strides.
const int64_t* encode_inputs(Chunk& chunk, std::initializer_list<const Tensor*> inputs) {
  size_t words = 1;
  for (const Tensor* input : inputs) words += input->defined() ? 2 + 2 * size_t(input->dim()) : 1;
  auto* result = static_cast<int64_t*>(chunk.allocate(words * sizeof(int64_t)));
  int64_t* out = result;
  *out++ = int64_t(inputs.size());
  for (const Tensor* input : inputs) {
    if (!input->defined()) {
      *out++ = -1;
      continue;
    }
    *out++ = int64_t(input->dtype());
    *out++ = input->dim();
    for (int64_t size : input->sizes()) *out++ = size;
    for (int64_t stride : input->strides()) *out++ = stride;
  }
  return result;
}

const char* copy_name(Chunk& chunk, std::string_view name) {
  auto* text = static_cast<char*>(chunk.allocate(name.size() + 1));
  std::memcpy(text, name.data(), name.size());
  text[name.size()] = '\0';
  return text;
}

int npu_of(std::initializer_list<const Tensor*> inputs) {
  for (const Tensor* input : inputs)
    if (input->defined() && input->device().is_npu()) return std::max<int>(input->device().index, 0);
  return -1;
}

// Initial-exec, as thread_state.h says: it is read several times per operator.
thread_local ThreadBuffer* t_buffer __attribute__((tls_model("initial-exec"))) = nullptr;
// Destructors of other thread-locals may still run operators when the buffer's owner is gone: they go unrecorded.
thread_local bool t_ending = false;

struct BufferOwner {
  std::shared_ptr<ThreadBuffer> buffer;
  ~BufferOwner() {
    t_ending = true;
    t_buffer = nullptr;
    if (buffer) buffer->finish();
  }
};

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

void Recorder::start(RecordOptions options) {
  std::lock_guard guard(mutex_);
  MT_CHECK(!recording(),
           "A profiler is recording already, and there is one recording at a time: stop the other "
           "profiler first.");
  std::erase_if(buffers_, [](const auto& buffer) { return buffer->finished(); });
  shapes_.store(options.shapes, std::memory_order_relaxed);
  memory_.store(options.memory, std::memory_order_relaxed);
  current_ = Trace{};
  current_.options = options;
  current_.epoch_offset_ns = epoch_offset_ns();
  current_.start_ns = now_ns();
  session_.store(++last_session_, std::memory_order_release);
  g_observer.store(this, std::memory_order_release);
}

Trace Recorder::stop() {
  std::lock_guard guard(mutex_);
  MT_CHECK(recording(), "No profiler is recording: start one before stopping it.");
  g_observer.store(nullptr, std::memory_order_release);
  const uint64_t session = session_.exchange(0, std::memory_order_acq_rel);
  current_.stop_ns = now_ns();
  for (const auto& buffer : buffers_) {
    if (buffer->session() != session) continue;
    current_.threads.push_back(buffer->events());
    // Other threads let go of their chunks when they record again or end.
    if (buffer.get() == t_buffer) buffer->reset(0);
  }
  return std::move(current_);
}

ThreadBuffer* Recorder::this_thread() { return t_buffer ? t_buffer : register_thread(); }

ThreadBuffer* Recorder::register_thread() {
  if (t_ending) return nullptr;
  thread_local BufferOwner owner;
  std::lock_guard guard(mutex_);
  owner.buffer = std::make_shared<ThreadBuffer>(syscall(SYS_gettid), ++last_thread_);
  buffers_.push_back(owner.buffer);
  return t_buffer = owner.buffer.get();
}

ThreadBuffer* Recorder::joined_thread() {
  const uint64_t session = session_.load(std::memory_order_acquire);
  if (session == 0) return nullptr;
  ThreadBuffer* buffer = this_thread();
  if (buffer) buffer->join(session);
  return buffer;
}

int64_t Recorder::read_memory(int npu) const {
  const MemoryReader reader = memory_reader_.load(std::memory_order_relaxed);
  return reader ? reader(npu) : -1;
}

void Recorder::begin(const OpInfo& op, std::initializer_list<const Tensor*> inputs) {
  ThreadBuffer* buffer = this_thread();
  if (!buffer) return;
  if (!joined_thread()) {
    // The session ended between the operator's look at g_observer and here. Its end() will come all the same.
    buffer->push({nullptr, -1, true});
    return;
  }
  const ThreadBuffer::Open* outer = buffer->innermost();
  const int32_t parent = outer && outer->event ? outer->index : -1;
  const auto [event, index] = buffer->next();
  event->name = op.name;
  event->overload = op.overload;
  event->parent = parent;
  event->step = step_.load(std::memory_order_relaxed);
  event->kind = EventKind::op;
  if (shapes_.load(std::memory_order_relaxed)) event->inputs = encode_inputs(*buffer->chunk(), inputs);
  buffer->push({event, index, true});
  const int npu = npu_of(inputs);
  if (npu >= 0) ran_on(*buffer, npu, memory_.load(std::memory_order_relaxed) ? read_memory(npu) : -1);
  event->start_ns = now_ns();
  buffer->publish();
}

void Recorder::end(const OpInfo&) {
  ThreadBuffer* buffer = this_thread();
  if (!buffer) return;
  if (Event* event = buffer->pop_op()) close(*event);
}

OpenScope Recorder::begin_scope(std::string_view name) {
  ThreadBuffer* buffer = joined_thread();
  if (!buffer) return {nullptr, nullptr};
  const ThreadBuffer::Open* outer = buffer->innermost();
  const int32_t parent = outer && outer->event ? outer->index : -1;
  const auto [event, index] = buffer->next();
  event->name = copy_name(*buffer->chunk(), name);
  event->overload = "";
  event->parent = parent;
  event->step = step_.load(std::memory_order_relaxed);
  event->kind = EventKind::scope;
  buffer->push({event, index, false});
  event->start_ns = now_ns();
  buffer->publish();
  return {buffer->chunk(), event};
}

void Recorder::end_scope(const OpenScope& scope) {
  if (!scope.event) return;
  if (t_buffer) t_buffer->remove(scope.event);
  close(*scope.event);
}

void Recorder::close(Event& event) const {
  const int npu = event.npu.load(std::memory_order_relaxed);
  if (npu >= 0 && memory_.load(std::memory_order_relaxed))
    event.memory_after.store(read_memory(npu), std::memory_order_relaxed);
  event.end_ns.store(now_ns(), std::memory_order_release);
}

void Recorder::memory_changed(const MemoryChange& change) {
  if (!memory_.load(std::memory_order_relaxed)) return;
  ThreadBuffer* buffer = joined_thread();
  if (!buffer) return;
  const ThreadBuffer::Open* outer = buffer->innermost();
  const int32_t parent = outer && outer->event ? outer->index : -1;
  // An operator without tensor inputs shows only here where it runs. A free says nothing: it may be anyone's.
  if (change.bytes > 0) ran_on(*buffer, change.npu, change.total_allocated - change.bytes);
  Event* event = buffer->next().event;
  event->name = "[memory]";
  event->overload = "";
  event->parent = parent;
  event->step = step_.load(std::memory_order_relaxed);
  event->kind = EventKind::memory;
  event->npu.store(int8_t(change.npu), std::memory_order_relaxed);
  event->bytes = change.bytes;
  event->address = change.address;
  event->memory_after.store(change.total_allocated, std::memory_order_relaxed);
  event->total_reserved = change.total_reserved;
  event->start_ns = now_ns();
  event->end_ns.store(event->start_ns, std::memory_order_relaxed);
  buffer->publish();
}

// What is open on this thread runs on the NPU, as far as it is not known to already. Whoever learns it tells all
// that is around it, so the first that knows ends the walk.
void Recorder::ran_on(ThreadBuffer& buffer, int npu, int64_t memory_before) {
  std::vector<ThreadBuffer::Open>& open = buffer.open();
  for (size_t i = open.size(); i-- > 0;) {
    Event* event = open[i].event;
    if (!event || event->npu.load(std::memory_order_relaxed) >= 0) return;
    event->memory_before.store(memory_before, std::memory_order_relaxed);
    event->npu.store(int8_t(npu), std::memory_order_relaxed);
  }
}

}  // namespace mt::profiler
