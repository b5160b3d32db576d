#include "runtime/ledger.h"

#include "base/error.h"
#include "runtime/virtual_segment.h"

namespace mt::runtime {

void Ledger::set_stat(size_t index, int64_t value) {
  MT_CHECK_AS(index, index < kAllocatorStatCount, "There are ", kAllocatorStatCount,
              " statistics; got index ", index, ".");
  stats_.values()[index] = value;
}

void Ledger::set_oversize(size_t bytes) {
  oversize_ = bytes;
  stats_.max_split_size = bytes == kUnlimited ? -1 : int64_t(bytes);
}

void Ledger::record_history(size_t max_entries, bool clear, uint32_t skipped) {
  history_.configure(max_entries, clear, skipped);
}

void Ledger::segment_added(const Block* segment, uint64_t stack) {
  const int64_t size = int64_t(segment->size);
  segment->pool->reserved.increase(segment->small, size);
  stats_.segment.increase(segment->small, 1);
  stats_.reserved_bytes.increase(segment->small, size);
  if (is_oversize(segment)) stats_.oversize_segments.increase(1);
  write(TraceAction::segment_alloc, segment, segment->size, stack);
}

void Ledger::segment_removed(const Block* segment) {
  const int64_t size = int64_t(segment->size);
  segment->pool->reserved.decrease(segment->small, size);
  stats_.segment.decrease(segment->small, 1);
  stats_.reserved_bytes.decrease(segment->small, size);
  if (is_oversize(segment)) stats_.oversize_segments.decrease(1);
  ++stats_.num_device_free;
  write(TraceAction::segment_free, segment, segment->size, segment->stack);
}

void Ledger::memory_mapped(const VirtualSegment& segment, Address address, size_t bytes) {
  segment.pool->reserved.increase(segment.small, int64_t(bytes));
  stats_.reserved_bytes.increase(segment.small, int64_t(bytes));
  ++stats_.num_device_alloc;
  write({TraceAction::segment_map, address, bytes, segment.stream, 0, 0, segment.pool->id});
}

void Ledger::memory_unmapped(const VirtualSegment& segment, Address address, size_t bytes) {
  segment.pool->reserved.decrease(segment.small, int64_t(bytes));
  stats_.reserved_bytes.decrease(segment.small, int64_t(bytes));
  ++stats_.num_device_free;
  if (!history_.enabled()) return;
  const Block* block = segment.first;
  while (block->ptr != address) block = block->next;
  write({TraceAction::segment_unmap, address, bytes, segment.stream, 0, block->stack, segment.pool->id});
}

void Ledger::out_of_memory(const MemoryRequest& request, size_t device_free) {
  write({TraceAction::oom, device_free, request.size, request.stream, 0, request.stack, request.pool->id});
}

void Ledger::snapshot_taken() {
  write({TraceAction::snapshot, 0, size_t(stats_.active_bytes.all.current), 0, 0, 0, 0});
}

}  // namespace mt::runtime
