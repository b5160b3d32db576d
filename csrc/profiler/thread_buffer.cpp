#include "profiler/thread_buffer.h"

namespace mt::profiler {

ThreadBuffer::Open* ThreadBuffer::innermost() {
  // An annotation may have been closed by another thread, which cannot take it off this thread's stack.
  while (!open_.empty()) {
    Open& top = open_.back();
    const bool closed = !top.is_op && top.event && top.event->end_ns.load(std::memory_order_relaxed) != 0;
    if (!closed) return &top;
    open_.pop_back();
  }
  return nullptr;
}

Event* ThreadBuffer::pop_op() {
  for (size_t i = open_.size(); i-- > 0;) {
    if (!open_[i].is_op) continue;
    Event* event = open_[i].event;
    open_.erase(open_.begin() + ptrdiff_t(i));
    return event;
  }
  return nullptr;
}

void ThreadBuffer::remove(const Event* event) {
  for (size_t i = open_.size(); i-- > 0;)
    if (open_[i].event == event) {
      open_.erase(open_.begin() + ptrdiff_t(i));
      return;
    }
}

void ThreadBuffer::reset(uint64_t session) {
  // What is open now belongs to an earlier session; operators stay on the stack, so that their ends find their begin.
  std::erase_if(open_, [](const Open& open) { return !open.is_op; });
  for (Open& open : open_) open.event = nullptr;
  seen_call_ = false;
  std::lock_guard guard(mutex_);
  chunks_.clear();
  chunk_.reset();
  count_ = 0;
  published_.store(0, std::memory_order_relaxed);
  session_.store(session, std::memory_order_release);
}

ThreadEvents ThreadBuffer::events() {
  std::lock_guard guard(mutex_);
  return {system_id_, number_, chunks_, published_.load(std::memory_order_acquire)};
}

void ThreadBuffer::add_chunk() {
  auto chunk = std::make_shared<Chunk>();
  std::lock_guard guard(mutex_);
  chunks_.push_back(chunk);
  chunk_ = std::move(chunk);
}

}  // namespace mt::profiler
