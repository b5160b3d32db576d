#include "runtime/growing_segments.h"

#include <algorithm>
#include <utility>

namespace mt::runtime {
namespace {

size_t round_up(size_t bytes, size_t granule) { return (bytes + granule - 1) / granule * granule; }

// Nobody else takes the block, or joins a free neighbour to it.
void hold(Block* block) {
  block->allocated = true;
  block->requested = 0;
}

}  // namespace

Block* GrowingSegments::grow(const MemoryRequest& request, std::string& refusal) {
  while (true) {
    Block* block;
    {
      SpinGuard guard(lock_);
      block = find_room(request);
      if (block && block->mapped) {
        tree_of(block).erase(block);
        hold(block);
      }
    }
    if (!block) {
      if (!reserve(request)) {
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
      SpinGuard guard(lock_);
      put_back(block);
      block = nullptr;
      break;
    }
    if (block) {
      SpinGuard guard(lock_);
      // What is left over when it is handed out must not lie beside a free block.
      if (Block* next = block->next; next && next->is_free()) {
        tree_of(next).erase(next);
        cache_.join(block, next);
      }
      return block;  // still held: until it is handed out another thread must not take it for a free neighbour
    }
    if (!taken) return nullptr;
  }
}

// The lowest address from which free and unmapped blocks give room for the request.
Block* GrowingSegments::find_room(const MemoryRequest& request) const {
  for (const auto& segment : segments_) {
    if (segment->pool != request.pool || segment->stream != request.stream || segment->small != request.small)
      continue;
    Block* start = nullptr;
    size_t room = 0;
    bool can_map = false;
    for (Block* block = segment->first; block; block = block->next) {
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

bool GrowingSegments::reserve(const MemoryRequest& request) {
  // More than the device has, so that free pieces in the middle do not make the end come too early.
  const size_t wanted = std::max(upstream_.memory_info().total / 8 * 9, request.size);
  const size_t bytes = round_up(wanted, settings_.granule(request.small));
  const Address address = upstream_.reserve(bytes);
  if (!address) return false;
  SpinGuard guard(lock_);
  add(address, bytes, request);
  return true;
}

void GrowingSegments::add(Address address, size_t bytes, const MemoryRequest& request) {
  auto segment = std::make_unique<VirtualSegment>();
  segment->address = address;
  segment->size = bytes;
  segment->granule = settings_.granule(request.small);
  segment->stream = request.stream;
  segment->small = request.small;
  segment->pool = request.pool;
  segment->mappings.resize(bytes / segment->granule);
  Block* block = cache_.make(address, bytes, request);
  block->range = segment.get();
  block->mapped = false;
  segment->first = block;
  ++request.pool->segments;
  segments_.push_back(std::move(segment));
}

void GrowingSegments::put_back(Block* held) {
  held->allocated = false;
  cache_.keep(cache_.join_free_neighbours(held).block);
}

// Memory for at least `bytes` (or all there is room for) at the front of an unmapped block, which is then held.
Block* GrowingSegments::map_front(Block* unmapped, size_t bytes, std::string& refusal) {
  VirtualSegment& segment = *unmapped->range;
  const size_t granule = segment.granule;
  const size_t mapped = std::min(round_up(bytes, granule), unmapped->size);
  if (limit_.refuses(mapped)) {
    refusal = MemoryLimit::kRefusal;
    return nullptr;
  }
  const Address begin = unmapped->ptr;
  std::vector<MappingHandle> made;
  const auto undo = [&] {
    for (size_t i = 0; i < made.size(); ++i) upstream_.unmap(begin + i * granule, made[i]);
  };
  for (Address at = begin; at != begin + mapped; at += granule) {
    Mapping mapping;
    try {
      mapping = upstream_.map(at, granule);
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
  SpinGuard guard(lock_);
  std::copy(made.begin(), made.end(), segment.mappings.begin() + long(segment.granule_at(begin)));
  if (mapped < unmapped->size) cache_.cut(unmapped, mapped);
  unmapped->mapped = true;
  unmapped->last_used = 0;
  hold(unmapped);
  cache_.ledger().memory_mapped(segment, begin, mapped);
  return unmapped;
}

// One step: the free block that follows, or memory behind the addresses that follow. False with a refusal when
// there is no memory, without one when somebody else has what follows by now.
bool GrowingSegments::extend(Block* held, size_t bytes, std::string& refusal) {
  Block* next;
  {
    SpinGuard guard(lock_);
    next = held->next;
    if (!next) return false;
    if (next->is_free()) {
      tree_of(next).erase(next);
      cache_.join(held, next);
      return true;
    }
    if (next->mapped) return false;
  }
  Block* piece = map_front(next, bytes, refusal);
  if (!piece) return false;
  SpinGuard guard(lock_);
  piece->allocated = false;
  cache_.join(held, piece);
  return true;
}

void GrowingSegments::take_out(Block* block, ReturnedMemory& returned) {
  VirtualSegment* segment = block->range;
  const Address begin = segment->first_whole(block);
  const size_t bytes = segment->whole_bytes(block);
  const uint64_t stack = std::exchange(block->stack, 0);  // of what goes back, not of what stays
  if (begin > block->ptr) {
    Block* before = block;
    block = cache_.cut(before, begin - before->ptr);
    cache_.keep(before);
  }
  if (bytes < block->size) cache_.keep(cache_.cut(block, bytes));
  block->mapped = false;
  for (Address at = begin; at != begin + bytes; at += segment->granule) {
    MappingHandle& mapping = segment->mappings[segment->granule_at(at)];
    returned.add_mapping(at, mapping, segment->granule);
    mapping = 0;
  }
  block->stack = stack;
  cache_.ledger().memory_unmapped(*segment, begin, bytes);
  block->stack = 0;

  if (Block* next = block->next; next && !next->mapped) cache_.join(block, next);
  if (Block* previous = block->previous; previous && !previous->mapped) {
    cache_.join(previous, block);
    block = previous;
  }
  if (block->is_split()) return;
  returned.add_addresses(segment->address);
  cache_.recycle(block);
  --segment->pool->segments;
  std::erase_if(segments_, [segment](const auto& owned) { return owned.get() == segment; });
}

}  // namespace mt::runtime
