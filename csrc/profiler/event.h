// What the recorder writes for one operator, annotation or allocation, and the blocks of memory it writes into.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mt::profiler {

enum class EventKind : uint8_t { op, scope, memory };

// The thread that records an event is the only one that writes to it. A collector may read it at any time after it
// was published (ThreadBuffer::publish): the fields that change later are atomic.
struct Event {
  int64_t start_ns = 0;            // steady clock
  std::atomic<int64_t> end_ns{0};  // 0 while open; written last, with release
  const char* name = nullptr;      // static, or in the chunk's arena
  const char* overload = nullptr;
  int32_t parent = -1;  // index among the thread's events
  int32_t step = 0;     // of the profiler's schedule
  EventKind kind = EventKind::op;
  std::atomic<int8_t> npu{-1};  // index of the NPU it ran on; -1 while none is known

  // Operators and annotations.
  const int64_t* inputs = nullptr;  // see encode_inputs in recorder.cpp; null when shapes are not recorded
  std::atomic<int64_t> memory_before{-1};  // bytes allocated on `npu`; -1 when not read
  std::atomic<int64_t> memory_after{-1};
  // Memory events.
  int64_t bytes = 0;           // positive: handed out; negative: given back
  int64_t total_reserved = 0;  // memory_after holds the total allocated
  uint64_t address = 0;
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
