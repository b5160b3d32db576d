// Who hears of an allocator's work: a recorder of stacks, the profiler, a memory checker, observers of failures.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/upstream.h"

namespace mt::runtime {

struct MemoryEvent {
  Address address;  // 0: it could not be had
  int64_t bytes;    // positive: handed out; negative: given back
  int64_t total_allocated;
  int64_t total_reserved;
  StreamHandle stream;
};

// A memory checker's functions: these bytes now belong to somebody, or to nobody. Null for none.
struct MemoryMarks {
  void (*used)(const void* address, uint64_t bytes) = nullptr;
  void (*free)(const void* address, uint64_t bytes) = nullptr;
};

using RecordStack = std::function<uint64_t()>;               // an id for the current stack, 0 for none
using DescribeStack = std::function<std::string(uint64_t)>;  // "model.py:88 in forward", empty for none
using MemoryObserver = std::function<void(const MemoryEvent&)>;
// An allocation is about to fail: its rounded size, and the device's total and free bytes.
using OutOfMemoryObserver = std::function<void(size_t, size_t, size_t)>;

// Watchers are called from the allocating thread, never under the allocator's lock. Setters are called one at a
// time; an empty function takes the watcher away.
class Watchers {
 public:
  // Somebody watches or records: one branch on the hot path. Who waits for an allocation to fail does not
  // count: that costs nothing while they succeed.
  bool any() const { return reasons_.load(std::memory_order_relaxed) != 0; }
  void set_recording(bool on) { set_reason(kRecording, on); }  // a history is kept

  void set_stack_recorder(RecordStack record, DescribeStack describe);
  void set_memory_observer(MemoryObserver observer);
  void set_out_of_memory_observer(OutOfMemoryObserver observer);
  void set_marks(MemoryMarks marks);

  uint64_t current_stack() const;
  // Nothing when nobody can describe them.
  std::vector<std::string> describe(const std::vector<uint64_t>& stacks) const;
  void tell(const MemoryEvent& event) const;
  void tell_out_of_memory(size_t bytes, size_t device_total, size_t device_free) const;
  MemoryMarks marks() const;

 private:
  struct Functions {
    RecordStack record_stack;
    DescribeStack describe_stack;
    MemoryObserver memory_event;
    OutOfMemoryObserver out_of_memory;
    MemoryMarks marks;
  };
  enum Reason : uint8_t { kWatching = 1, kRecording = 2 };

  template <class Change>
  void change(Change change);
  void set_reason(Reason reason, bool on);

  std::atomic<uint8_t> reasons_{0};
  std::atomic<std::shared_ptr<const Functions>> functions_;  // null: none
};

}  // namespace mt::runtime
