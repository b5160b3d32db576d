#include "runtime/block_cache.h"

namespace mt::runtime {

Block* BlockCache::take_fitting(const MemoryRequest& request) {
  ++now_;
  FreeTree& free_blocks = request.pool->tree(request.small);
  Block* block = free_blocks.best_fit(request.stream, request.size);
  if (!block) return nullptr;
  if (block->range) {
    // The growing end is for what fits nowhere else.
    if (block->can_grow())
      if (Block* other = free_blocks.best_fit(request.stream, block->size, block->ptr + 1)) block = other;
  } else if (!request.small) {
    // A block of max_split_size or more is kept for requests that need most of it.
    if (request.size < settings_.max_split_size) {
      if (block->size >= settings_.max_split_size) return nullptr;
    } else if (block->size - request.size >= settings_.max_non_split_rounding) {
      return nullptr;
    }
  }
  free_blocks.erase(block);
  return block;
}

bool BlockCache::should_split(const Block* block, size_t size) const {
  const size_t rest = block->size - size;
  if (block->pool->options.no_split) return false;
  if (block->small || block->range) return rest >= kMinBlockSize;
  return size < settings_.max_split_size && rest > kSmallSize;
}

Block* BlockCache::hand_out(Block* block, const MemoryRequest& request) {
  const bool was_split = block->is_split();
  int64_t pieces = 0, bytes = 0;  // how the free pieces of split segments change
  if (should_split(block, request.size)) {
    Block* rest = cut(block, request.size);
    keep(rest);
    if (was_split) bytes = -int64_t(block->size);  // a free piece shrinks
    else pieces = 1, bytes = int64_t(rest->size);  // a whole segment becomes a live piece and a free one
  } else if (was_split) {                          // a free piece becomes live
    pieces = -1, bytes = -int64_t(block->size);
  }
  // Free pieces of a growing segment can be unmapped: they do not count as stuck.
  if (!block->range) ledger_.free_pieces_changed(block->small, pieces, bytes);
  block->allocated = true;
  block->requested = request.requested;
  block->stack = request.stack;
  ledger_.handed_out(block);
  return block;
}

BlockCache::Joined BlockCache::join_free_neighbours(Block* block) {
  Joined joined{block, 0, 0};
  FreeTree& free_blocks = tree_of(block);
  if (Block* next = block->next; next && next->is_free()) {
    free_blocks.erase(next);
    ++joined.pieces, joined.bytes += int64_t(next->size);
    join(block, next);
  }
  if (Block* previous = block->previous; previous && previous->is_free()) {
    free_blocks.erase(previous);
    ++joined.pieces, joined.bytes += int64_t(previous->size);
    join(previous, block);
    joined.block = previous;
  }
  return joined;
}

void BlockCache::retire(Block* block, uint64_t stack) {
  ledger_.use_ended(block, stack);
  block->requested = 0;
  block->stack = 0;
  const auto [whole, pieces, bytes] = join_free_neighbours(block);
  keep(whole);
  if (whole->range) return;  // its free pieces can be unmapped: they do not count as stuck
  const bool is_piece = whole->is_split();
  ledger_.free_pieces_changed(whole->small, is_piece - pieces, (is_piece ? int64_t(whole->size) : 0) - bytes);
}

}  // namespace mt::runtime
