// CachingAllocator: segments that grow in place (expandable_segments).
#include <algorithm>

#include "base/error.h"
#include "runtime/caching_allocator.h"

// Note [Growing segments]
// A segment of fixed size that is cut up for small requests cannot serve a large one, and cannot go back while
// one of its pieces lives. A growing segment reserves addresses for more than the whole device once, and puts
// memory behind them as requests come: the next request continues where the last one ended, and free granules
// (2 MiB in the small pool, the large segment size in the large one) go back alone. Addresses are only mapped
// and unmapped in a Turn; other threads may meanwhile take and give back mapped blocks, so what grows is held
// as if it were allocated while upstream is called.
namespace mt::runtime {

Block* CachingAllocator::expand(const Request& request, std::string& refusal) {
  while (true) {
    Block* block;
    {
      Guard guard(lock_);
      block = find_room(request);
      if (block && block->mapped) {
        tree(block).erase(block);
        hold(block);
      }
    }
    if (!block) {
      if (!reserve_range(request)) {
        refusal = "no addresses could be reserved";
        return nullptr;
      }
      continue;
    }
    if (!block->mapped && !(block = map_front(block, request.size, refusal))) return nullptr;
    bool taken = false;
    while (block->size < request.size) {
      refusal.clear();
      if (extend(block, request.size - block->size, refusal)) continue;
      taken = refusal.empty();  // another thread took what follows: look again
      Guard guard(lock_);
      put_back(block);
      block = nullptr;
      break;
    }
    if (block) {
      Guard guard(lock_);
      // What is left over when it is handed out must not lie beside a free block.
      if (Block* next = block->next; next && next->is_free()) {
        tree(next).erase(next);
        merge_blocks(store_, block, next);
      }
      return block;  // still held: until it is handed out another thread must not take it for a free neighbour
    }
    if (!taken) return nullptr;
  }
}

// The lowest address from which free and unmapped blocks give room for the request.
Block* CachingAllocator::find_room(const Request& request) {
  for (const auto& range : request.pool->ranges) {
    if (range->stream != request.stream || range->small != request.small) continue;
    Block* start = nullptr;
    size_t room = 0;
    bool can_map = false;
    for (Block* block = range->first; block; block = block->next) {
      if (block->mapped && !block->is_free()) {
        start = nullptr, room = 0, can_map = false;
        continue;
      }
      if (!start) start = block;
      room += block->size;
      can_map |= !block->mapped;
      if (can_map && room >= request.size) return start;
    }
  }
  return nullptr;
}

bool CachingAllocator::reserve_range(const Request& request) {
  const size_t granule = request.small ? kSmallSegment : settings_.large_segment_size;
  // More than the device has, so that free pieces in the middle do not make the end come too early.
  const size_t wanted = std::max(upstream_->memory_info().total / 8 * 9, request.size);
  const size_t bytes = (wanted + granule - 1) / granule * granule;
  const Address address = upstream_->reserve(bytes);
  if (!address) return false;
  Guard guard(lock_);
  add_range(address, bytes, request);
  return true;
}

void CachingAllocator::add_range(Address address, size_t bytes, const Request& request) {
  auto range = std::make_unique<VirtualSegment>();
  range->address = address;
  range->size = bytes;
  range->granule = request.small ? kSmallSegment : settings_.large_segment_size;
  range->stream = request.stream;
  range->small = request.small;
  range->mappings.resize(bytes / range->granule);
  Block* block = store_.make(address, bytes, request.stream, request.small, request.pool);
  block->range = range.get();
  block->mapped = false;
  range->first = block;
  request.pool->ranges.push_back(std::move(range));
}

void CachingAllocator::hold(Block* block) {
  block->allocated = true;
  block->requested = 0;
}

void CachingAllocator::put_back(Block* block) {
  block->allocated = false;
  FreeTree& free_blocks = tree(block);
  if (Block* next = block->next; next && next->is_free()) {
    free_blocks.erase(next);
    merge_blocks(store_, block, next);
  }
  if (Block* previous = block->previous; previous && previous->is_free()) {
    free_blocks.erase(previous);
    merge_blocks(store_, previous, block);
    block = previous;
  }
  block->cached_since = tick_;
  free_blocks.insert(block);
}

// Memory for at least `bytes` (or all there is room for) at the front of an unmapped block, which is then held.
Block* CachingAllocator::map_front(Block* unmapped, size_t bytes, std::string& refusal) {
  VirtualSegment& range = *unmapped->range;
  const size_t granule = range.granule;
  const size_t mapped = std::min((bytes + granule - 1) / granule * granule, unmapped->size);
  const size_t limit = memory_limit();
  if (limit != kUnlimited && size_t(stats().reserved_bytes.all.current) + mapped > limit) {
    refusal = "the limit of this process is reached";
    return nullptr;
  }
  const Address begin = unmapped->ptr;
  std::vector<MappingHandle> made;
  const auto undo = [&] {
    for (size_t i = 0; i < made.size(); ++i) upstream_->unmap(begin + i * granule, made[i]);
  };
  for (Address at = begin; at != begin + mapped; at += granule) {
    Mapping mapping;
    try {
      mapping = upstream_->map(at, granule);
    } catch (...) {
      undo();
      throw;
    }
    if (!mapping.handle) {
      refusal = mapping.error;
      undo();
      return nullptr;
    }
    made.push_back(mapping.handle);
  }
  Guard guard(lock_);
  std::copy(made.begin(), made.end(), range.mappings.begin() + long(range.granule_at(begin)));
  if (mapped < unmapped->size) split_block(store_, unmapped, mapped);
  unmapped->mapped = true;
  unmapped->last_used = 0;
  hold(unmapped);
  MemoryPool* pool = unmapped->pool;
  pool->reserved.increase(range.small, int64_t(mapped));
  stats_.reserved_bytes.increase(range.small, int64_t(mapped));
  ++stats_.num_device_alloc;
  trace(TraceAction::segment_map, begin, mapped, range.stream, 0, pool);
  return unmapped;
}

// One step: the free block that follows, or memory behind the addresses that follow. False with a refusal when
// there is no memory, without one when somebody else has what follows by now.
bool CachingAllocator::extend(Block* held, size_t bytes, std::string& refusal) {
  Block* next;
  {
    Guard guard(lock_);
    next = held->next;
    if (!next) return false;
    if (next->is_free()) {
      tree(next).erase(next);
      merge_blocks(store_, held, next);
      return true;
    }
    if (next->mapped) return false;
  }
  Block* piece = map_front(next, bytes, refusal);
  if (!piece) return false;
  Guard guard(lock_);
  piece->allocated = false;
  merge_blocks(store_, held, piece);
  return true;
}

// The block is free and out of its tree. Its whole granules lose their memory; what remains at its ends stays
// free. With the last granule, the addresses go too.
void CachingAllocator::unmap_whole_granules(Block* block, Returned& returned) {
  VirtualSegment* range = block->range;
  MemoryPool* pool = block->pool;
  const Address begin = range->first_whole(block);
  const size_t bytes = range->whole_bytes(block);
  if (begin > block->ptr) {
    Block* before = block;
    block = split_block(store_, block, begin - block->ptr);
    before->cached_since = block->cached_since = tick_;
    tree(before).insert(before);
  }
  if (bytes < block->size) {
    Block* after = split_block(store_, block, bytes);
    after->cached_since = tick_;
    tree(after).insert(after);
  }
  block->mapped = false;
  for (Address at = begin; at != begin + bytes; at += range->granule) {
    MappingHandle& mapping = range->mappings[range->granule_at(at)];
    returned.mappings.emplace_back(at, mapping);
    mapping = 0;
  }
  pool->reserved.decrease(range->small, int64_t(bytes));
  stats_.reserved_bytes.decrease(range->small, int64_t(bytes));
  ++stats_.num_device_free;
  trace(TraceAction::segment_unmap, begin, bytes, range->stream, 0, pool);
  returned.bytes += bytes;

  if (Block* next = block->next; next && !next->mapped) merge_blocks(store_, block, next);
  if (Block* previous = block->previous; previous && !previous->mapped) {
    merge_blocks(store_, previous, block);
    block = previous;
  }
  if (block->is_split()) return;
  returned.ranges.push_back(range->address);
  store_.recycle(block);
  std::erase_if(pool->ranges, [range](const auto& owned) { return owned.get() == range; });
}

}  // namespace mt::runtime
