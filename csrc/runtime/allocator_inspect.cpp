// CachingAllocator: statistics, snapshots, history and watchers.
#include <algorithm>

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

// The runs of memory in a list of blocks: one for a segment of fixed size, each mapped part of a growing one.
void add_segments(const Block* first, std::vector<SegmentState>& result) {
  bool open = false;
  for (const Block* block = first; block; block = block->next) {
    if (!block->mapped) {
      open = false;
      continue;
    }
    if (!open) {
      SegmentState segment{};
      segment.address = block->ptr;
      segment.stream = block->stream;
      segment.small = block->small;
      segment.expandable = block->range != nullptr;
      segment.pool = block->pool->id;
      result.push_back(std::move(segment));
      open = true;
    }
    SegmentState& segment = result.back();
    segment.blocks.push_back(state_of(block));
    segment.size += block->size;
    segment.allocated += block->allocated ? block->size : 0;
    segment.active += block->is_free() ? 0 : block->size;
    segment.requested += block->is_free() ? 0 : block->requested;
  }
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
  for (const auto& [address, first] : segments_) add_segments(first, result.segments);
  const auto add_ranges = [&](const MemoryPool& pool) {
    for (const auto& range : pool.ranges) add_segments(range->first, result.segments);
  };
  add_ranges(default_pool_);
  for (const auto& [id, pool] : pools_) add_ranges(*pool);
  std::sort(result.segments.begin(), result.segments.end(),
            [](const SegmentState& a, const SegmentState& b) { return a.address < b.address; });
  // The entry ties the state above to a moment in the history.
  trace(TraceAction::snapshot, 0, size_t(stats_.active_bytes.all.current), 0, 0, nullptr);
  if (include_trace) result.trace = trace_.in_order();
  result.trace_overflowed = trace_.overflowed();
  result.trace_max_entries = trace_.max_entries();
  result.settings = settings_;
  return result;
}

std::vector<BlockState> CachingAllocator::cached_blocks(bool small) {
  std::vector<BlockState> result;
  Guard guard(lock_);
  default_pool_.tree(small).for_each([&](const Block* block) { result.push_back(state_of(block)); });
  return result;
}

void CachingAllocator::set_stack_recorder(std::function<uint64_t()> record_stack,
                                          std::function<std::string(uint64_t)> describe_stack) {
  Turn turn(*this);
  const auto now = watchers_.load();
  Watchers changed = now ? *now : Watchers{};
  changed.record_stack = std::move(record_stack);
  changed.describe_stack = std::move(describe_stack);
  set_watchers(changed);
}

void CachingAllocator::set_out_of_memory_observer(std::function<void(size_t, size_t, size_t)> out_of_memory) {
  Turn turn(*this);
  const auto now = watchers_.load();
  Watchers changed = now ? *now : Watchers{};
  changed.out_of_memory = std::move(out_of_memory);
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
  const bool any =
      watchers.record_stack || watchers.memory_event || watchers.marks.used || watchers.out_of_memory;
  watchers_.store(any ? std::make_shared<const Watchers>(watchers) : nullptr);
  update_observed();
}

void CachingAllocator::record_history(size_t max_entries, bool clear, uint32_t skipped) {
  {
    Guard guard(lock_);
    trace_.configure(max_entries, clear, skipped);
  }
  update_observed();
}

void CachingAllocator::update_observed() {
  const auto watchers = watchers_.load();
  // Who waits for an allocation to fail costs nothing while they succeed.
  const bool watched = watchers && (watchers->record_stack || watchers->memory_event || watchers->marks.used);
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
