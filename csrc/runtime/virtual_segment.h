// A segment that grows in place: reserved addresses, of which as many have memory behind them as are in use.
#pragma once

#include <vector>

#include "runtime/free_lists.h"
#include "runtime/upstream.h"

namespace mt::runtime {

// Its blocks tile the addresses from the first to the last; those without memory have `mapped` false. Memory
// comes and goes in granules, so a growing segment is never too small for a request and never stranded whole.
struct VirtualSegment {
  Address address;
  size_t size;
  size_t granule;
  StreamHandle stream;
  bool small;
  MemoryPool* pool;
  Block* first = nullptr;
  std::vector<MappingHandle> mappings;  // one for each granule, 0 where no memory is

  size_t granule_at(Address at) const { return (at - address) / granule; }
  // The granules that lie whole inside a block: what it can give back.
  Address first_whole(const Block* block) const {
    return address + (block->ptr - address + granule - 1) / granule * granule;
  }
  Address end_of_whole(const Block* block) const {
    return address + (block->ptr + block->size - address) / granule * granule;
  }
  size_t whole_bytes(const Block* block) const {
    const Address begin = first_whole(block), end = end_of_whole(block);
    return end > begin ? end - begin : 0;
  }
};

// What of a free block can go back to the device: nothing of a piece of a segment of fixed size.
inline size_t releasable_bytes(const Block* block) {
  if (block->range) return block->range->whole_bytes(block);
  return block->is_split() ? 0 : block->size;
}

}  // namespace mt::runtime
