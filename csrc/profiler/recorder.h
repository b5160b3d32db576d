// Records operators, annotations and device memory, from every thread, into a trace.
//
// The recorder is the Observer of core/observe.h while a session runs. It is one object that is never destroyed:
// operators that were in flight when a session stopped still call end() on it. How threads record without a lock is
// told in Note [Recording without locks] in thread_buffer.h.
#pragma once

#include <string_view>

#include "core/observe.h"
#include "profiler/thread_buffer.h"

namespace mt::profiler {

struct RecordOptions {
  bool shapes = false;  // sizes, strides and dtypes of tensor inputs
  bool memory = false;  // NPU memory before and after, and every allocation told to memory_changed()
};

// What a session recorded. Event ids count through the threads, one after the other.
struct Trace {
  RecordOptions options;
  int64_t start_ns = 0;  // steady clock
  int64_t stop_ns = 0;
  int64_t epoch_offset_ns = 0;  // add to a steady time for the time since 1970
  std::vector<ThreadEvents> threads;

  uint64_t size() const;
  // Events still open at the stop, and those that ended after it, end with the session.
  int64_t end_of(const Event& event) const;
};

// The bytes handed out on an NPU now, -1 if it cannot say. Must not throw: it is called from destructors.
using MemoryReader = int64_t (*)(int npu) noexcept;

struct MemoryChange {
  int npu;
  uint64_t address;
  int64_t bytes;  // positive: handed out; negative: given back
  int64_t total_allocated;
  int64_t total_reserved;
};

// An annotation that has begun. It may be ended by any thread.
struct OpenScope {
  std::shared_ptr<Chunk> chunk;  // keeps the event alive
  Event* event;
};

class Recorder final : public Observer {
 public:
  static Recorder& get();

  // Installed once by whoever knows the device's allocator.
  void set_memory_reader(MemoryReader reader) { memory_reader_.store(reader, std::memory_order_relaxed); }

  // One session at a time: starting a second throws.
  void start(RecordOptions options);
  Trace stop();
  bool recording() const { return session_.load(std::memory_order_relaxed) != 0; }
  void set_step(int32_t step) { step_.store(step, std::memory_order_relaxed); }

  void begin(const OpInfo& op, std::initializer_list<const Tensor*> inputs) override;
  void end(const OpInfo& op) override;

  // An event of null means that nothing is being recorded.
  OpenScope begin_scope(std::string_view name);
  void end_scope(const OpenScope& scope);

  // Called by the allocating thread.
  void memory_changed(const MemoryChange& change);

 private:
  Recorder() = default;
  ThreadBuffer* this_thread();
  ThreadBuffer* register_thread();
  // The thread's buffer, ready for the running session; null when none runs.
  ThreadBuffer* joined_thread();
  int64_t read_memory(int npu) const;
  void close(Event& event) const;
  void ran_on(ThreadBuffer& buffer, int npu, int64_t memory_before);

  std::atomic<uint64_t> session_{0};  // 0: none
  std::atomic<bool> shapes_{false}, memory_{false};
  std::atomic<int32_t> step_{0};
  std::atomic<MemoryReader> memory_reader_{nullptr};

  std::mutex mutex_;  // all below
  uint64_t last_session_ = 0;
  int32_t last_thread_ = 0;
  Trace current_;
  std::vector<std::shared_ptr<ThreadBuffer>> buffers_;
};

}  // namespace mt::profiler
