// Blocks between two uses: found, cut to size and handed out; joined with their free neighbours and kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/alloc_conf.h"
#include "runtime/free_lists.h"
#include "runtime/ledger.h"
#include "runtime/memory_pool.h"

namespace mt::runtime {

// Used with the allocator's lock held; calls nothing outside. It owns the block objects and the clock by which
// they age, and the ledger in which they are counted; the trees of free ones are their pools'.
class BlockCache {
 public:
  explicit BlockCache(const AllocatorSettings& settings) : settings_(settings) {}
  BlockCache(const BlockCache&) = delete;

  Ledger& ledger() { return ledger_; }

  // The clock counts allocations and device synchronisations.
  uint64_t now() const { return now_; }
  uint64_t advance() { return now_++; }  // returns the time that has just ended

  // A cached block of the request's pool, handed out; null when none fits.
  Block* serve(const MemoryRequest& request) {
    Block* block = take_fitting(request);
    return block ? hand_out(block, request) : nullptr;
  }
  // A block that is in no tree becomes the caller's. What he does not need is cached.
  Block* hand_out(Block* block, const MemoryRequest& request);
  // No stream uses the block any more.
  void retire(Block* block, uint64_t stack);

  // For segments, which make blocks and let them go. No counting.
  Block* make(Address address, size_t bytes, const MemoryRequest& request) {
    return store_.make(address, bytes, request.stream, request.small, request.pool);
  }
  void recycle(Block* block) { store_.recycle(block); }
  Block* cut(Block* block, size_t size) { return split_block(store_, block, size); }  // returns the rest
  void join(Block* first, Block* second) { merge_blocks(store_, first, second); }
  void keep(Block* block) {
    block->cached_since = now_;
    tree_of(block).insert(block);
  }
  // What is free around the block joins it. `pieces` and `bytes`: how the free pieces change.
  struct Joined {
    Block* block;
    int64_t pieces, bytes;
  };
  Joined join_free_neighbours(Block* block) {
    Joined joined{block, 0, 0};
    FreeTree& free_blocks = tree_of(block);
    if (Block* next = block->next; next && next->is_free()) {
      free_blocks.erase(next);
      --joined.pieces, joined.bytes -= int64_t(next->size);
      join(block, next);
    }
    if (Block* previous = block->previous; previous && previous->is_free()) {
      free_blocks.erase(previous);
      --joined.pieces, joined.bytes -= int64_t(previous->size);
      join(previous, block);
      joined.block = previous;
    }
    return joined;
  }

 private:
  Block* take_fitting(const MemoryRequest& request);

  const AllocatorSettings& settings_;
  Ledger ledger_;
  BlockStore store_;
  uint64_t now_ = 1;
};

}  // namespace mt::runtime
