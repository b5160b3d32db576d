// What the recorder writes for one operator, annotation or allocation, and the blocks of memory it writes into.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/accelerator.h"

namespace mt::profiler {

enum class EventKind : uint8_t {
  op,
  scope,   // an annotation
  memory,  // an allocation or a free
  visit,   // the backward pass visits a node
  run,     // and runs it
  module,  // the forward of an nn.Module
  call,    // of the device's runtime
  python,  // a call of a Python function, or of a native one from Python
};

// The thread that records an event is the only one that writes to it. A collector may read it at any time after it
// was published (ThreadBuffer::publish): the fields that change later are atomic.
struct Event {
  int64_t start_ns = 0;            // steady clock
  std::atomic<int64_t> end_ns{0};  // 0 while open; written last, with release
  const char* name = nullptr;      // static, or in the chunk's arena
  const char* overload = "";
  const char* details = "";         // of a collective: what it is, as members of a JSON object
  const int64_t* inputs = nullptr;  // see encode_inputs in inputs.h; null when shapes are not recorded
  // Bytes allocated on `device`, or on the host since the recording began. Of memory events: the total afterwards.
  std::atomic<int64_t> memory_before{kUnknown};
  std::atomic<int64_t> memory_after{kUnknown};
  // Operators and nodes: the number of the (first) node made; -1 for none. Memory: the address.
  // Calls: the number that what they launch on the device has too.
  std::atomic<int64_t> number{-1};
  int64_t bytes = 0;           // memory, positive: handed out; negative: given back
  int64_t total_reserved = 0;  // memory
  int32_t parent = -1;         // index among the thread's events
  int32_t step = 0;            // of the profiler's schedule
  uint32_t stack = 0;          // see StackReader in recorder.h; 0 for none
  EventKind kind = EventKind::op;
  std::atomic<Device> device{Device{}};  // the accelerator it ran on; the host while none is known
};

// A run of events with the variable-sized data they point to. It never moves, and it lives as long as anyone
// (the recording thread, a collected trace, an open annotation) refers to it.
class Chunk {
 public:
  static constexpr uint32_t kEvents = 1024;

  Event events[kEvents];

  // Memory for shapes and names, aligned for int64_t; freed with the chunk.
  void* allocate(size_t bytes) {
    const size_t words = (bytes + sizeof(int64_t) - 1) / sizeof(int64_t);
    if (words > words_left_) grow(words);
    int64_t* result = free_;
    free_ += words;
    words_left_ -= words;
    return result;
  }

 private:
  void grow(size_t words) {
    const size_t size = words > kBlockWords ? words : kBlockWords;
    blocks_.push_back(std::make_unique<int64_t[]>(size));
    free_ = blocks_.back().get();
    words_left_ = size;
  }

  static constexpr size_t kBlockWords = 4096;
  std::vector<std::unique_ptr<int64_t[]>> blocks_;
  int64_t* free_ = nullptr;
  size_t words_left_ = 0;
};

}  // namespace mt::profiler
