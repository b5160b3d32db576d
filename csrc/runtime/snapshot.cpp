#include "runtime/snapshot.h"

#include "runtime/memory_pool.h"

namespace mt::runtime {

BlockState state_of(const Block* block) {
  const char* state = block->allocated        ? "active_allocated"
                      : block->pending_events ? "active_pending_free"
                                              : "inactive";
  return {block->ptr, block->size, block->requested, state, block->stream, block->stack};
}

void add_segment_states(const Block* first, std::vector<SegmentState>& result) {
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

}  // namespace mt::runtime
