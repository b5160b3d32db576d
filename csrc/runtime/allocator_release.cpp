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
  const auto unsafe = [this](const Block* block) { return used_since_synchronize(block); };
  std::vector<Block*> chosen;
  bool must_wait;
  {
    Guard guard(lock_);
    chosen = choose();
    must_wait = std::any_of(chosen.begin(), chosen.end(), unsafe);
  }
  if (chosen.empty()) return 0;
  if (must_wait) synchronize_and_complete();

  std::vector<Address> addresses;
  size_t bytes = 0;
  {
    Guard guard(lock_);
    chosen = choose();
    std::erase_if(chosen, unsafe);
    for (Block* block : chosen) {
      tree(block->small).erase(block);
      segments_.erase(block->ptr);
      stats_.segment.decrease(block->small, 1);
      stats_.reserved_bytes.decrease(block->small, int64_t(block->size));
      if (block->size >= settings_.max_split_size) stats_.oversize_segments.decrease(1);
      ++stats_.num_device_free;
      trace(TraceAction::segment_free, block->ptr, block->size, block->stream, 0);
      addresses.push_back(block->ptr);
      bytes += block->size;
      store_.recycle(block);
    }
  }
  // One address that the driver refuses must not keep the others.
  std::exception_ptr first_failure;
  for (Address address : addresses) {
    try {
      upstream_->free(address);
    } catch (...) {
      if (!first_failure) first_failure = std::current_exception();
    }
  }
  if (first_failure) std::rethrow_exception(first_failure);
  return bytes;
}

std::vector<Block*> CachingAllocator::whole_segments() {
  std::vector<Block*> result;
  for (bool small : {false, true})
    tree(small).for_each([&](Block* block) {
      if (!block->is_split()) result.push_back(block);
    });
  return result;
}

// With max_split_size, large blocks are never cut; one that is big enough, or the largest ones together, make
// room for a request without throwing away the rest of the cache.
std::vector<Block*> CachingAllocator::oversize_blocks(const Request& request) {
  const size_t oversize = settings_.max_split_size;
  if (oversize == kUnlimited) return {};
  const size_t wanted = std::max(request.size, oversize);
  FreeTree& free_blocks = tree(request.small);
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
      bytes += block->size;
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
    if (small_.count() + large_.count() == 0) return false;
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
