// CachingAllocator: giving memory back to the device, and the limits that make it necessary.
#include <algorithm>
#include <exception>

#include "base/error.h"
#include "runtime/caching_allocator.h"
#include "runtime/oom_report.h"

namespace mt::runtime {

// Note [A cached block may still be in use]
// A block is cached as soon as its tensor dies, while kernels that read it are still queued on its stream.
// That is safe as long as the same stream reuses it, but not for giving the memory back: not every driver
// waits for the device in its free function. So a segment is only released once the device has been
// synchronised after its last use. `choose` runs twice: to see whether that is needed, and, if it was, on the
// state afterwards.
size_t CachingAllocator::release(const std::function<std::vector<Block*>()>& choose) {
  const auto unsafe = [this](const Block* block) { return is_unsafe_to_release(block); };
  std::vector<Block*> chosen;
  bool must_wait;
  {
    Guard guard(lock_);
    chosen = choose();
    must_wait = std::any_of(chosen.begin(), chosen.end(), unsafe);
  }
  if (chosen.empty()) return 0;
  if (must_wait) synchronize_and_complete();

  Returned returned;
  {
    Guard guard(lock_);
    chosen = choose();
    std::erase_if(chosen, unsafe);
    for (Block* block : chosen) {
      tree(block).erase(block);
      if (block->range) unmap_whole_granules(block, returned);
      else take_out(block, returned);
    }
    drop_unused_pools();
  }
  give_back(returned);
  return returned.bytes;
}

// A whole segment of fixed size leaves its pool.
void CachingAllocator::take_out(Block* block, Returned& returned) {
  MemoryPool* pool = block->pool;
  segments_.erase(block->ptr);
  --pool->segments;
  pool->reserved.decrease(block->small, int64_t(block->size));
  stats_.segment.decrease(block->small, 1);
  stats_.reserved_bytes.decrease(block->small, int64_t(block->size));
  if (block->size >= settings_.max_split_size) stats_.oversize_segments.decrease(1);
  ++stats_.num_device_free;
  trace(TraceAction::segment_free, block->ptr, block->size, block->stream, 0, pool);
  returned.segments.push_back({block->ptr, block->size, block->stream, pool->options.source});
  returned.bytes += block->size;
  store_.recycle(block);
}

void CachingAllocator::give_back(const Returned& returned) {
  // One address that the driver refuses must not keep the others.
  std::exception_ptr first_failure;
  const auto attempt = [&](auto&& call) {
    try {
      call();
    } catch (...) {
      if (!first_failure) first_failure = std::current_exception();
    }
  };
  for (const auto& segment : returned.segments)
    attempt([&] {
      if (segment.source) segment.source->free(segment.address, segment.size, segment.stream);
      else upstream_->free(segment.address);
    });
  for (const auto& [address, mapping] : returned.mappings)
    attempt([&, at = address, handle = mapping] { upstream_->unmap(at, handle); });
  for (Address address : returned.ranges) attempt([&] { upstream_->unreserve(address); });
  if (first_failure) std::rethrow_exception(first_failure);
}

std::vector<Block*> CachingAllocator::whole_segments_of(MemoryPool& pool) {
  std::vector<Block*> result;
  for (bool small : {false, true})
    pool.tree(small).for_each([&](Block* block) {
      if (block->range ? block->range->whole_bytes(block) > 0 : !block->is_split()) result.push_back(block);
    });
  return result;
}

std::vector<Block*> CachingAllocator::whole_segments() {
  std::vector<Block*> result = whole_segments_of(default_pool_);
  const auto add = [&](MemoryPool& pool) {
    const std::vector<Block*> more = whole_segments_of(pool);
    result.insert(result.end(), more.begin(), more.end());
  };
  add(direct_pool_);
  for (const auto& [id, pool] : pools_)
    if (pool->users == 0) add(*pool);
  return result;
}

// With max_split_size, large blocks are never cut; one that is big enough, or the largest ones together, make
// room for a request without throwing away the rest of the cache.
std::vector<Block*> CachingAllocator::oversize_blocks(const Request& request) {
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
std::vector<Block*> CachingAllocator::old_segments(size_t bytes_to_free) {
  std::vector<Block*> candidates = whole_segments(), result;
  uint64_t total_age = 0;
  for (const Block* block : candidates) total_age += tick_ - block->cached_since;
  size_t bytes = 0;
  while (bytes < bytes_to_free && !candidates.empty()) {
    const double threshold = double(total_age) / double(candidates.size());
    std::vector<Block*> younger;
    for (Block* block : candidates) {
      const uint64_t age = tick_ - block->cached_since;
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

bool CachingAllocator::collect_garbage_in_turn() {
  const double threshold = settings_.garbage_collection_threshold;
  if (threshold <= 0) return false;
  {
    Guard guard(lock_);
    if (whole_segments().empty()) return false;
  }
  size_t allowed = memory_limit();
  if (allowed == kUnlimited) allowed = upstream_->memory_info().total;
  const size_t keep = size_t(threshold * double(allowed));
  const size_t reserved = size_t(stats().reserved_bytes.all.current);
  if (reserved <= keep) return false;
  return release([&] { return old_segments(reserved - keep); }) > 0;
}

void CachingAllocator::collect_garbage() {
  Turn turn(*this);
  collect_garbage_in_turn();
}

void CachingAllocator::empty_cache() {
  Turn turn(*this);
  bool waiting;
  {
    Guard guard(lock_);
    waiting = !pending_.empty();
  }
  if (waiting) synchronize_and_complete();
  release([this] { return whole_segments(); });
}

size_t CachingAllocator::memory_limit() {
  double fraction;
  size_t limit;
  {
    Guard guard(lock_);
    fraction = settings_.memory_fraction;
    limit = limit_;
  }
  if (fraction >= 1) return limit;
  return std::min(limit, size_t(fraction * double(upstream_->memory_info().total)));
}

void CachingAllocator::check_limit(size_t bytes) {
  const size_t limit = memory_limit();
  const size_t reserved = size_t(stats().reserved_bytes.all.current);
  if (limit == kUnlimited || reserved + bytes <= limit) return;
  fail(ErrorKind::out_of_memory, identity_.device_name, " out of memory. Tried to allocate ",
       format_size(bytes), ". This process has ", format_size(reserved), " reserved on ",
       identity_.device_name, " ", identity_.device_index, " and may hold ", format_size(limit),
       ". Free memory, or raise the limit with set_per_process_memory_fraction.");
}

void CachingAllocator::set_memory_fraction(double fraction) {
  MT_CHECK_AS(value, fraction >= 0 && fraction <= 1, "The memory fraction must be from 0 to 1, but it is ",
              fraction, ".");
  Guard guard(lock_);
  settings_.memory_fraction = fraction;
}

void CachingAllocator::set_memory_limit(size_t bytes) {
  Guard guard(lock_);
  limit_ = bytes;
}

void CachingAllocator::set_settings(const AllocatorSettings& settings) {
  Turn turn(*this);  // a growing thread reads the settings without the lock
  Guard guard(lock_);
  settings_ = settings;
  stats_.max_split_size = settings.max_split_size == kUnlimited ? -1 : int64_t(settings.max_split_size);
}

AllocatorSettings CachingAllocator::settings() {
  Guard guard(lock_);
  return settings_;
}

}  // namespace mt::runtime
