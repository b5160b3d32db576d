// Records operators, annotations, memory and the work of devices, from every thread, into a trace.
//
// The recorder is the Observer of core/observe.h while a session runs. It is one object that is never destroyed:
// operators that were in flight when a session stopped still call end() on it. How threads record without a lock is
// told in Note [Recording without locks] in thread_buffer.h.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "core/observe.h"
#include "profiler/device_times.h"
#include "profiler/thread_buffer.h"
#include "profiler/tracers.h"

namespace mt::profiler {

struct RecordOptions {
  bool ops = true;      // operators, annotations, the backward pass
  bool tasks = false;   // what devices do
  bool shapes = false;  // arguments of operators
  bool memory = false;  // memory before and after, every allocation and free
  bool stacks = false;  // the Python stack of each operator, and Python calls
};

// What a session recorded. Event ids count through the threads, one after the other.
struct Trace {
  RecordOptions options;
  int64_t start_ns = 0;  // steady clock
  int64_t stop_ns = 0;
  int64_t epoch_offset_ns = 0;  // add to a steady time for the time since 1970
  bool taken_over = false;      // another session was started before this one was stopped: nothing is here
  std::vector<ThreadEvents> threads;
  std::vector<Task> tasks;                         // by the time of their launch, as far as one thread goes
  std::vector<std::shared_ptr<const void>> texts;  // that tasks point to
  std::vector<std::string> problems;               // what is missing in the trace

  uint64_t size() const;
  // Events still open at the stop, and those that ended after it, end with the session.
  int64_t end_of(const Event& event) const;
};

// A number for the Python stack of the calling thread; 0 when there is none.
using StackReader = uint32_t (*)() noexcept;

// An annotation that has begun. It may be ended by any thread.
struct OpenScope {
  std::shared_ptr<Chunk> chunk;  // keeps the event alive
  Event* event;
};

class Recorder final : public Observer {
 public:
  static Recorder& get();

  // Installed once by whoever knows Python.
  void set_stack_reader(StackReader reader) { stack_reader_.store(reader, std::memory_order_relaxed); }

  // One session at a time, which the number returned stands for. A new one takes over from one that runs: as in
  // PyTorch, the older then ends with nothing.
  uint64_t start(RecordOptions options);
  Trace stop(uint64_t session);
  // Leaves operators, or what devices do, out of the running recording, or takes them in again.
  void collect(bool enable, bool ops, bool tasks);
  // After a fork, in the child: what was recorded belongs to the parent. Takes no lock, which a thread that is not here
  // any more may hold.
  void forget();
  bool recording() const { return session_.load(std::memory_order_relaxed) != 0; }
  void set_step(int32_t step) { step_.store(step, std::memory_order_relaxed); }

  void begin(const OpInfo& op, ObservedArguments arguments) override;
  void end() override;
  void node_made(uint64_t sequence) override;
  void begin_visit(std::string_view node, std::optional<uint64_t> sequence) override;
  void begin_run(std::string_view node, std::optional<uint64_t> sequence, TensorList gradients) override;
  void host_memory_changed(const void* address, int64_t bytes) override;
  bool begin_task(const TaskInfo& task) override;
  void end_task() override;

  // Annotations and modules. An event of null means that nothing is being recorded.
  OpenScope begin_scope(std::string_view name, EventKind kind = EventKind::scope,
                        std::string_view details = {});
  void end_scope(const OpenScope& scope);

  // Calls of Python functions. The name lives for ever. `frame` tells a call from the others
  // that are open on this thread.
  void begin_call(const char* name, const void* frame) { open_call(name, frame, 0); }
  // One that was already going on when the recording began.
  void add_caller(const char* name, const void* frame) {
    open_call(name, frame, started_ns_.load(std::memory_order_relaxed));
  }
  void end_call(const void* frame);
  // True when this thread's first call of the recording is about to be recorded: its callers come before it.
  bool wants_callers();

  // Called by the allocating thread.
  void memory_changed(Device device, const MemoryChange& change);

 private:
  Recorder() = default;
  ThreadBuffer* this_thread();
  // The thread's buffer, ready for the running session; null when none runs.
  ThreadBuffer* joined_thread();
  // A buffer for an operator or node, whose end will come whatever happens; null when it is not recorded.
  ThreadBuffer* buffer_for_op();
  void open_call(const char* name, const void* frame, int64_t start_ns);
  ThreadBuffer::Slot open_event(ThreadBuffer& buffer, EventKind kind, const char* name);
  void begin_node(EventKind kind, std::string_view prefix, std::string_view name,
                  std::optional<uint64_t> sequence, ObservedArguments arguments);
  void finish_tasks();  // with the lock held
  int64_t read_memory(Device device) const;
  void close(Event& event) const;
  void ran_on(ThreadBuffer& buffer, Device device, int64_t memory_before);

  std::atomic<uint64_t> session_{0};  // 0: none
  std::atomic<bool> ops_{true}, tasks_{false}, shapes_{false}, memory_{false}, stacks_{false};
  std::atomic<int32_t> step_{0};
  std::atomic<int64_t> started_ns_{0};
  std::atomic<int64_t> host_allocated_{0};  // since the session began
  std::atomic<int64_t> last_correlation_{0};
  std::atomic<StackReader> stack_reader_{nullptr};
  DeviceTimes device_;
  Tracers tracers_;

  std::mutex mutex_;  // all below
  uint64_t last_session_ = 0;
  int32_t last_thread_ = 0;
  Trace current_;
  std::vector<std::shared_ptr<ThreadBuffer>> buffers_;

  std::mutex recorded_mutex_;
  std::unordered_map<const void*, int64_t> recorded_;  // correlation of the last recording of each event
};

}  // namespace mt::profiler
