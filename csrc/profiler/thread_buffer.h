// The events of one thread.
//
// Note [Recording without locks]
// Each thread appends to chunks of its own and publishes an event by storing the new count with release; a collector
// loads the count and reads up to there. The mutex guards only the list of chunks: it is taken once per chunk, and by
// the collector. Chunks are shared, so a collected trace takes them without copying while operators that are still in
// flight write their end into them; such an end lies after the trace's stop and is read as the stop.
//
// A thread finds out that a new session has begun when it records its first event of that session, and then drops the
// chunks of the last one itself. So nobody ever takes memory away from a thread that may be writing to it.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "profiler/event.h"

namespace mt::profiler {

// Identity of a thread and a consistent prefix of what it recorded.
struct ThreadEvents {
  int64_t system_id;  // as the operating system shows it
  int32_t number;     // 1, 2, … in the order of first recording
  std::vector<std::shared_ptr<Chunk>> chunks;
  uint32_t count;

  const Event& operator[](uint32_t index) const {
    return chunks[index / Chunk::kEvents]->events[index % Chunk::kEvents];
  }
};

class ThreadBuffer {
 public:
  ThreadBuffer(int64_t system_id, int32_t number) : system_id_(system_id), number_(number) {}

  // --- by the thread itself ---

  struct Open {
    Event* event;  // null when nothing is recorded for it
    int32_t index;
    bool is_op;
    const void* frame = nullptr;  // of a Python call: what tells it from others
  };
  struct Slot {
    Event* event;
    int32_t index;
  };

  void join(uint64_t session) {
    if (session_.load(std::memory_order_relaxed) != session) [[unlikely]]
      reset(session);
  }
  // A slot to fill in; invisible to others until publish().
  Slot next() {
    const uint32_t place = count_ % Chunk::kEvents;
    if (place == 0) add_chunk();
    return {&chunk_->events[place], int32_t(count_)};
  }
  void publish() { published_.store(++count_, std::memory_order_release); }

  // The innermost open event, which the next one has as its parent.
  Open* innermost();
  void push(Open open) { open_.push_back(open); }
  // Operators of a thread end in reverse order of their begin; annotations may be closed in any order.
  Event* pop_op();
  void remove(const Event* event);
  // Takes the Python call off, with those inside it whose end was not seen; `close` gets their events.
  template <class Close>
  void pop_call(const void* frame, Close&& close) {
    size_t place = open_.size();
    while (place > 0 && open_[place - 1].frame != frame) --place;
    if (place == 0) return;  // it began before the recording, or is not shown
    for (size_t i = open_.size(); i >= place; --i)
      if (open_[i - 1].frame) close(*open_[i - 1].event), open_.erase(open_.begin() + ptrdiff_t(i - 1));
  }
  // True once per recording: what called the first Python call that is seen has yet to be recorded.
  bool first_call() { return !std::exchange(seen_call_, true); }
  std::vector<Open>& open() { return open_; }
  const std::shared_ptr<Chunk>& chunk() const { return chunk_; }

  void reset(uint64_t session);

  // --- by anyone ---

  int32_t number() const { return number_; }
  uint64_t session() const { return session_.load(std::memory_order_acquire); }
  ThreadEvents events();
  // The thread is gone and will not record again.
  void finish() { finished_.store(true, std::memory_order_release); }
  bool finished() const { return finished_.load(std::memory_order_acquire); }

 private:
  void add_chunk();

  const int64_t system_id_;
  const int32_t number_;
  std::atomic<uint64_t> session_{0};
  std::atomic<bool> finished_{false};
  std::atomic<uint32_t> published_{0};
  uint32_t count_ = 0;
  std::shared_ptr<Chunk> chunk_;
  std::vector<Open> open_;
  bool seen_call_ = false;

  std::mutex mutex_;
  std::vector<std::shared_ptr<Chunk>> chunks_;  // guarded by mutex_
};

}  // namespace mt::profiler
