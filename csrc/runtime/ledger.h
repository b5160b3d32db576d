// What happened to an allocator's memory: counted always (memory_stats), written down when somebody asked for a
// history. Both are told by the same calls, so that they cannot disagree.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/alloc_conf.h"
#include "runtime/memory_pool.h"
#include "runtime/stats.h"
#include "runtime/trace.h"

namespace mt::runtime {

// Used with the allocator's lock held. What every cache hit calls is inline.
class Ledger {
 public:
  const AllocatorStats& stats() const { return stats_; }
  size_t allocated() const { return size_t(stats_.allocated_bytes.all.current); }
  size_t reserved() const { return size_t(stats_.reserved_bytes.all.current); }
  void set_stat(size_t index, int64_t value);
  void reset_peak() { stats_.reset_peak(); }
  void reset_accumulated() { stats_.reset_accumulated(); }
  void count(int64_t AllocatorStats::* counter) { ++(stats_.*counter); }
  void set_oversize(size_t bytes);  // blocks of this size or more are counted apart; kUnlimited: none

  // 0 entries stop recording. Bit i of `skipped` leaves TraceAction i out.
  void record_history(size_t max_entries, bool clear, uint32_t skipped);
  const TraceLog& history() const { return history_; }

  // Blocks.
  void handed_out(const Block* block, const MemoryRequest& request) {
    const bool small = request.small;
    const int64_t size = int64_t(block->size);
    stats_.allocation.increase(small, 1);
    stats_.allocated_bytes.increase(small, size);
    stats_.active.increase(small, 1);
    stats_.active_bytes.increase(small, size);
    stats_.requested_bytes.increase(small, int64_t(request.requested));
    if (is_oversize(block)) stats_.oversize_allocations.increase(1);
    write(TraceAction::alloc, block, request.requested, request.stack);
  }
  void given_back(const Block* block, uint64_t stack) {
    stats_.allocation.decrease(block->small, 1);
    stats_.allocated_bytes.decrease(block->small, int64_t(block->size));
    if (is_oversize(block)) stats_.oversize_allocations.decrease(1);
    write(TraceAction::free_requested, block, block->requested, stack);
  }
  // No stream uses it any more.
  void use_ended(const Block* block, uint64_t stack) {
    stats_.active.decrease(block->small, 1);
    stats_.active_bytes.decrease(block->small, int64_t(block->size));
    stats_.requested_bytes.decrease(block->small, int64_t(block->requested));
    write(TraceAction::free_completed, block, block->requested, stack);
  }
  // The free pieces of segments that have other pieces.
  void free_pieces_changed(bool small, int64_t pieces, int64_t bytes) {
    if (pieces) stats_.inactive_split.change(small, pieces);
    if (bytes) stats_.inactive_split_bytes.change(small, bytes);
  }

  // Memory of the device. `segment` is whole.
  void segment_added(const Block* segment, uint64_t stack);
  void segment_removed(const Block* segment);
  void memory_mapped(const VirtualSegment& segment, Address address, size_t bytes);
  void memory_unmapped(const VirtualSegment& segment, Address address, size_t bytes);

  void out_of_memory(const MemoryRequest& request, size_t device_free);
  // Ties a snapshot to a moment in the history.
  void snapshot_taken();

 private:
  bool is_oversize(const Block* block) const { return block->size >= oversize_; }
  void write(TraceAction action, const Block* block, size_t size, uint64_t stack) {
    if (history_.enabled()) [[unlikely]]
      history_.add({action, block->ptr, size, block->stream, 0, stack, block->pool->id});
  }
  void write(const TraceEntry& entry) {
    if (history_.enabled()) history_.add(entry);
  }

  size_t oversize_ = kUnlimited;
  AllocatorStats stats_;
  TraceLog history_;
};

}  // namespace mt::runtime
