// Blocks of device memory: where they come from, how they split and merge, and the ordered lists of free
// ones. This file knows no streams beyond comparing their handles, no statistics and no locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/upstream.h"

namespace mt::runtime {

struct MemoryPool;      // memory_pool.h
struct VirtualSegment;  // virtual_segment.h

// A piece of a segment. The blocks of a segment form a list in address order; the first block object of a
// segment stays the first until the segment goes (splitting and merging keep the front object).
struct Block {
  Address ptr = 0;
  size_t size = 0;
  size_t requested = 0;  // what the caller asked; 0 while free
  StreamHandle stream =
      0;  // the stream it was made for: only work of that stream may reuse it without waiting
  Block* previous = nullptr;
  Block* next = nullptr;
  MemoryPool* pool = nullptr;
  VirtualSegment* range = nullptr;  // the growing segment it belongs to, null in one of fixed size
  bool small = false;
  bool mapped = true;           // false: addresses of a growing segment without memory behind them
  bool allocated = false;       // in a caller's hands
  uint32_t pending_events = 0;  // uses by other streams that must finish before it is free
  uint64_t cached_since = 0;  // the allocation count when it was last cached: its age for garbage collection
  uint64_t last_used = 0;     // the allocation count when its memory was last given back; 0: never used
  uint64_t stack = 0;         // where it was allocated, if stacks are recorded
  std::vector<StreamHandle> used_by;  // other streams (record_stream)

  // Position in a FreeTree.
  Block* left = nullptr;
  Block* right = nullptr;
  uint32_t priority = 0;

  void* address() const { return reinterpret_cast<void*>(ptr); }
  bool is_split() const { return previous || next; }
  bool is_free() const { return mapped && !allocated && pending_events == 0; }
  // The free end of a growing segment: what it can still become counts, not what it is.
  bool can_grow() const { return next && !next->mapped; }
};

// Block objects without a heap allocation on the hot path: made in slabs and reused.
class BlockStore {
 public:
  Block* make(Address ptr, size_t size, StreamHandle stream, bool small, MemoryPool* pool);
  void recycle(Block* block);

 private:
  void grow();

  std::vector<std::unique_ptr<Block[]>> slabs_;
  Block* spare_ = nullptr;  // linked through `right`
  uint32_t random_ = 0x9e3779b9u;
};

// Free blocks ordered by (stream, size, address): a treap whose links live in the blocks.
class FreeTree {
 public:
  void insert(Block* block);
  void erase(Block* block);
  // The smallest block of `stream` with at least `size` bytes; of equal ones the lowest address from `lowest` on.
  Block* best_fit(StreamHandle stream, size_t size, Address lowest = 0) const;

  template <class Visit>
  void for_each(Visit visit) const {
    walk(root_, visit);
  }

 private:
  template <class Visit>
  static void walk(Block* node, Visit& visit) {
    if (!node) return;
    walk(node->left, visit);
    Block* right = node->right;  // the visitor may take the block out of use, not out of the tree
    visit(node);
    walk(right, visit);
  }

  Block* root_ = nullptr;
};

// Cuts `block` to `size` bytes and returns the rest as a new block after it.
Block* split_block(BlockStore& store, Block* block, size_t size);
// Joins `second` to `first`, which it follows; `second` ceases to exist.
void merge_blocks(BlockStore& store, Block* first, Block* second);

}  // namespace mt::runtime
