// CachingAllocator: statistics, snapshots, history and watchers.
#include "base/error.h"
#include "runtime/caching_allocator.h"

namespace mt::runtime {
namespace {

BlockState state_of(const Block* block) {
  const char* state = block->allocated        ? "active_allocated"
                      : block->pending_events ? "active_pending_free"
                                              : "inactive";
  return {block->ptr, block->size, block->requested, state, block->stream, block->stack};
}

}  // namespace

AllocatorStats CachingAllocator::stats() {
  Guard guard(lock_);
  return stats_;
}

void CachingAllocator::set_stat(size_t index, int64_t value) {
  MT_CHECK_AS(index, index < kAllocatorStatCount, "There are ", kAllocatorStatCount,
              " statistics; got index ", index, ".");
  Guard guard(lock_);
  stats_.values()[index] = value;
}

void CachingAllocator::reset_peak_stats() {
  Guard guard(lock_);
  stats_.reset_peak();
}

void CachingAllocator::reset_accumulated_stats() {
  Guard guard(lock_);
  stats_.reset_accumulated();
}

Snapshot CachingAllocator::snapshot(bool include_trace) {
  Snapshot result;
  Guard guard(lock_);
  for (const auto& [address, first] : segments_) {
    SegmentState segment{};
    segment.address = address;
    segment.stream = first->stream;
    segment.small = first->small;
    for (const Block* block = first; block; block = block->next) {
      segment.blocks.push_back(state_of(block));
      segment.size += block->size;
      segment.allocated += block->allocated ? block->size : 0;
      segment.active += block->is_free() ? 0 : block->size;
      segment.requested += block->is_free() ? 0 : block->requested;
    }
    result.segments.push_back(std::move(segment));
  }
  // The entry ties the state above to a moment in the history.
  trace(TraceAction::snapshot, 0, size_t(stats_.active_bytes.all.current), 0, 0);
  if (include_trace) result.trace = trace_.in_order();
  result.trace_overflowed = trace_.overflowed();
  result.trace_max_entries = trace_.max_entries();
  result.settings = settings_;
  return result;
}

std::vector<BlockState> CachingAllocator::cached_blocks(bool small) {
  std::vector<BlockState> result;
  Guard guard(lock_);
  tree(small).for_each([&](const Block* block) { result.push_back(state_of(block)); });
  return result;
}

void CachingAllocator::set_stack_recorder(std::function<uint64_t()> record_stack) {
  Turn turn(*this);
  const auto now = watchers_.load();
  Watchers changed = now ? *now : Watchers{};
  changed.record_stack = std::move(record_stack);
  set_watchers(changed);
}

void CachingAllocator::set_memory_observer(std::function<void(const MemoryEvent&)> memory_event) {
  Turn turn(*this);
  const auto now = watchers_.load();
  Watchers changed = now ? *now : Watchers{};
  changed.memory_event = std::move(memory_event);
  set_watchers(changed);
}

void CachingAllocator::set_memory_marks(MemoryMarks marks) {
  Turn turn(*this);
  const auto now = watchers_.load();
  Watchers changed = now ? *now : Watchers{};
  changed.marks = marks;
  set_watchers(changed);
}

void CachingAllocator::set_watchers(const Watchers& watchers) {
  const bool any = watchers.record_stack || watchers.memory_event || watchers.marks.used;
  watchers_.store(any ? std::make_shared<const Watchers>(watchers) : nullptr);
  update_observed();
}

void CachingAllocator::record_history(size_t max_entries, bool clear) {
  {
    Guard guard(lock_);
    trace_.configure(max_entries, clear);
  }
  update_observed();
}

void CachingAllocator::update_observed() {
  const bool watched = watchers_.load() != nullptr;
  Guard guard(lock_);
  observed_.store(watched || trace_.enabled(), std::memory_order_relaxed);
}

uint64_t CachingAllocator::current_stack() {
  const auto watchers = watchers_.load();
  return watchers && watchers->record_stack ? watchers->record_stack() : 0;
}

MemoryMarks CachingAllocator::memory_marks() {
  const auto watchers = watchers_.load();
  return watchers ? watchers->marks : MemoryMarks{};
}

void CachingAllocator::tell_watchers(const MemoryEvent& event) {
  const auto watchers = watchers_.load();
  if (watchers && watchers->memory_event) watchers->memory_event(event);
}

}  // namespace mt::runtime
