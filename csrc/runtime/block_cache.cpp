#include "runtime/block_cache.h"

namespace mt::runtime {
namespace {

bool should_split(const AllocatorSettings& settings, const Block* block, size_t size) {
  const size_t rest = block->size - size;
  if (block->pool->options.no_split) return false;
  if (block->small || block->range) return rest >= kMinBlockSize;
  return size < settings.max_split_size && rest > kSmallSize;
}

}  // namespace

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

Block* BlockCache::hand_out(Block* block, const MemoryRequest& request) {
  const bool small = request.small;
  const bool was_split = block->is_split();
  if (should_split(settings_, block, request.size)) {
    Block* rest = cut(block, request.size);
    keep(rest);
    if (block->range) {
      // Free pieces of a growing segment can be unmapped: they do not count as stuck.
    } else if (was_split) {  // a free piece shrinks
      ledger_.free_pieces_changed(small, 0, -int64_t(block->size));
    } else {  // a whole segment becomes a live piece and a free one
      ledger_.free_pieces_changed(small, 1, int64_t(rest->size));
    }
  } else if (was_split && !block->range) {  // a free piece becomes live
    ledger_.free_pieces_changed(small, -1, -int64_t(block->size));
  }
  block->allocated = true;
  block->requested = request.requested;
  block->stack = request.stack;
  ledger_.handed_out(block, request);
  return block;
}

void BlockCache::retire(Block* block, uint64_t stack) {
  ledger_.use_ended(block, stack);
  block->requested = 0;
  block->stack = 0;
  auto [whole, pieces, bytes] = join_free_neighbours(block);
  keep(whole);
  if (whole->range) return;  // its free pieces can be unmapped: they do not count as stuck
  if (whole->is_split()) ++pieces, bytes += int64_t(whole->size);
  ledger_.free_pieces_changed(whole->small, pieces, bytes);
}

}  // namespace mt::runtime
