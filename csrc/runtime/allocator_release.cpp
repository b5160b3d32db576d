// CachingAllocator: giving memory back to the device.
#include <algorithm>
#include <exception>

#include "base/error.h"
#include "runtime/caching_allocator.h"

namespace mt::runtime {

// Note [A cached block may still be in use]
// A block is cached as soon as its tensor dies, while kernels that read it are still queued on its stream.
// That is safe as long as the same stream reuses it, but not for giving the memory back: not every driver
// waits for the device in its free function. So a segment is only released once the device has been
// synchronised after its last use. `choose` runs twice: to see whether that is needed, and, if it was, on the
// state afterwards.
size_t CachingAllocator::release(const std::function<std::vector<Block*>()>& choose) {
  if (uses_.capturing()) return 0;
  const auto unsafe = [this](const Block* block) { return is_unsafe_to_release(block); };
  std::vector<Block*> chosen;
  bool must_wait;
  {
    SpinGuard guard(lock_);
    chosen = choose();
    must_wait = std::any_of(chosen.begin(), chosen.end(), unsafe);
  }
  if (chosen.empty()) return 0;
  if (must_wait) uses_.synchronize();

  const uint64_t stack = watchers_.any() ? watchers_.current_stack() : 0;
  ReturnedMemory returned;
  {
    SpinGuard guard(lock_);
    chosen = choose();
    std::erase_if(chosen, unsafe);
    for (Block* block : chosen) {
      tree_of(block).erase(block);
      block->stack = stack;  // who gives it back
      if (block->range) growing_.take_out(block, returned);
      else fixed_.take_out(block, returned);
    }
    pools_.drop_unused();
  }
  returned.give_back(*upstream_);
  return returned.bytes();
}

// Work that is still queued may use it, and nobody but us keeps the order.
bool CachingAllocator::is_unsafe_to_release(const Block* block) const {
  const PoolOptions& pool = block->pool->options;
  return uses_.may_run(block) && !(pool.direct && pool.source);
}

// free() runs in destructors: a device that refuses is asked again with the next free or empty_cache().
void CachingAllocator::release_directly() {
  try {
    Turn turn(*this);
    uses_.complete();
    release([this] { return pools_.direct_pool().releasable_blocks(); });
  } catch (const std::exception& failure) {
    SpinGuard guard(lock_);
    uses_.set_error(failure.what());
  }
}

// With max_split_size, large blocks are never cut; one that is big enough, or the largest ones together, make
// room for a request without throwing away the rest of the cache.
std::vector<Block*> CachingAllocator::oversize_blocks(const MemoryRequest& request) const {
  const size_t oversize = settings_.max_split_size;
  if (oversize == kUnlimited) return {};
  const size_t wanted = std::max(request.size, oversize);
  FreeTree& free_blocks = request.pool->tree(request.small);
  if (Block* block = free_blocks.best_fit(request.stream, wanted); block && !block->is_split())
    return {block};
  std::vector<Block*> candidates;
  free_blocks.for_each([&](Block* block) {
    if (block->stream == request.stream && block->size >= oversize && !block->is_split())
      candidates.push_back(block);
  });
  std::vector<Block*> result;
  size_t bytes = 0;
  for (auto block = candidates.rbegin(); block != candidates.rend() && bytes < wanted; ++block) {
    result.push_back(*block);
    bytes += (*block)->size;
  }
  return bytes >= wanted ? result : std::vector<Block*>{};
}

// Rounds of "everything older than the average age" until enough would be freed: the target is passed on
// purpose, so that collection does not run at every allocation.
std::vector<Block*> CachingAllocator::old_blocks(size_t bytes_to_free) {
  std::vector<Block*> candidates = pools_.releasable_blocks(), result;
  const auto age_of = [now = cache_.now()](const Block* block) { return now - block->cached_since; };
  uint64_t total_age = 0;
  for (const Block* block : candidates) total_age += age_of(block);
  size_t bytes = 0;
  while (bytes < bytes_to_free && !candidates.empty()) {
    const double threshold = double(total_age) / double(candidates.size());
    std::vector<Block*> younger;
    for (Block* block : candidates) {
      const uint64_t age = age_of(block);
      if (double(age) < threshold) {
        younger.push_back(block);
        continue;
      }
      total_age -= age;
      bytes += releasable_bytes(block);
      result.push_back(block);
    }
    candidates.swap(younger);
  }
  return result;
}

void CachingAllocator::collect_garbage_in_turn() {
  const double threshold = settings_.garbage_collection_threshold;
  if (threshold <= 0) return;
  {
    SpinGuard guard(lock_);
    if (pools_.releasable_blocks().empty()) return;
  }
  size_t allowed = limit_.bytes();
  if (allowed == kUnlimited) allowed = upstream_->memory_info().total;
  const size_t keep = size_t(threshold * double(allowed));
  const size_t reserved = size_t(stats().reserved_bytes.all.current);
  if (reserved > keep) release([&] { return old_blocks(reserved - keep); });
}

void CachingAllocator::collect_garbage() {
  Turn turn(*this);
  collect_garbage_in_turn();
}

void CachingAllocator::empty_cache() {
  Turn turn(*this);
  finish_pending_uses();
  release([this] { return pools_.releasable_blocks(); });
}

void CachingAllocator::empty_pool(int64_t id) {
  Turn turn(*this);
  {
    SpinGuard guard(lock_);
    if (!pools_.find(id)) return;
  }
  finish_pending_uses();
  release([&] {
    MemoryPool* pool = pools_.find(id);
    return pool ? pool->releasable_blocks() : std::vector<Block*>{};
  });
}

void CachingAllocator::finish_pending_uses() {
  bool waiting;
  {
    SpinGuard guard(lock_);
    waiting = !uses_.empty();
  }
  if (waiting && !uses_.capturing()) uses_.synchronize();
}

}  // namespace mt::runtime
