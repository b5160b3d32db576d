#include "runtime/free_lists.h"

#include <algorithm>

namespace mt::runtime {
namespace {

constexpr size_t kSlab = 256;

inline bool comes_before(const Block* a, StreamHandle stream, size_t size, Address ptr) {
  if (a->stream != stream) return a->stream < stream;
  if (a->size != size) return a->size < size;
  return a->ptr < ptr;
}

inline bool comes_before(const Block* a, const Block* b) {
  return comes_before(a, b->stream, b->size, b->ptr);
}

}  // namespace

void BlockStore::grow() {
  slabs_.push_back(std::make_unique<Block[]>(kSlab));
  for (Block* block = slabs_.back().get() + kSlab; block-- != slabs_.back().get();) {
    // Priorities only have to be unrelated to addresses and sizes (xorshift32).
    random_ ^= random_ << 13, random_ ^= random_ >> 17, random_ ^= random_ << 5;
    block->priority = random_;
    block->right = spare_;
    spare_ = block;
  }
}

Block* BlockStore::make(Address ptr, size_t size, StreamHandle stream, bool small, MemoryPool* pool) {
  if (!spare_) [[unlikely]]
    grow();
  Block* block = spare_;
  spare_ = block->right;
  block->ptr = ptr;
  block->size = size;
  block->stream = stream;
  block->small = small;
  block->pool = pool;
  return block;
}

void BlockStore::recycle(Block* block) {
  // `used_by` keeps its capacity and is empty here; the priority stays with the object.
  block->requested = 0;
  block->previous = block->next = block->left = nullptr;
  block->range = nullptr;
  block->mapped = true;
  block->allocated = false;
  block->pending_events = 0;
  block->cached_since = block->last_used = block->stack = 0;
  block->right = spare_;
  spare_ = block;
}

void FreeTree::insert(Block* block) {
  Block** link = &root_;
  while (*link && (*link)->priority >= block->priority)
    link = comes_before(block, *link) ? &(*link)->left : &(*link)->right;
  // What hangs here goes below the new block, parted into what comes before it and what comes after.
  Block* rest = *link;
  *link = block;
  Block** before = &block->left;
  Block** after = &block->right;
  while (rest) {
    if (comes_before(rest, block)) {
      *before = rest;
      before = &rest->right;
      rest = *before;
    } else {
      *after = rest;
      after = &rest->left;
      rest = *after;
    }
  }
  *before = *after = nullptr;
}

void FreeTree::erase(Block* block) {
  Block** link = &root_;
  while (*link != block) link = comes_before(block, *link) ? &(*link)->left : &(*link)->right;
  Block* a = block->left;
  Block* b = block->right;
  while (a && b) {
    if (a->priority >= b->priority) {
      *link = a;
      link = &a->right;
      a = *link;
    } else {
      *link = b;
      link = &b->left;
      b = *link;
    }
  }
  *link = a ? a : b;
}

Block* FreeTree::best_fit(StreamHandle stream, size_t size, Address lowest) const {
  Block* best = nullptr;
  for (Block* node = root_; node;) {
    if (comes_before(node, stream, size, lowest)) {
      node = node->right;
    } else {
      best = node;
      node = node->left;
    }
  }
  return best && best->stream == stream ? best : nullptr;
}

Block* split_block(BlockStore& store, Block* block, size_t size) {
  Block* rest = store.make(block->ptr + size, block->size - size, block->stream, block->small, block->pool);
  rest->range = block->range;
  rest->mapped = block->mapped;
  rest->last_used = block->last_used;
  rest->previous = block;
  rest->next = block->next;
  if (rest->next) rest->next->previous = rest;
  block->next = rest;
  block->size = size;
  return rest;
}

void merge_blocks(BlockStore& store, Block* first, Block* second) {
  first->size += second->size;
  first->last_used = std::max(first->last_used, second->last_used);
  first->next = second->next;
  if (first->next) first->next->previous = first;
  store.recycle(second);
}

}  // namespace mt::runtime
