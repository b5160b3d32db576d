// Segments of fixed size: taken from the device whole, cut up for requests, given back when whole again.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "runtime/alloc_conf.h"
#include "runtime/block_cache.h"
#include "runtime/memory_limit.h"
#include "runtime/returned_memory.h"
#include "runtime/spin_lock.h"
#include "runtime/upstream.h"

namespace mt::runtime {

class FixedSegments {
 public:
  FixedSegments(Upstream& upstream, SpinLock& lock, const AllocatorSettings& settings,
                const MemoryLimit& limit, BlockCache& cache)
      : upstream_(upstream), lock_(lock), settings_(settings), limit_(limit), cache_(cache) {}
  FixedSegments(const FixedSegments&) = delete;

  // In a turn (CachingAllocator::Turn), without the allocator's lock: it calls upstream.
  // A new segment for the request, in no tree. Null with a refusal.
  Block* grow(const MemoryRequest& request, std::string& refusal);
  // What the device is asked for.
  size_t bytes_for(const MemoryRequest& request) const {
    return request.pool->options.direct ? request.size : settings_.segment_size(request.size);
  }

  // With the lock held.
  // Memory that upstream has given, as a block in no tree.
  Block* add(Address address, size_t bytes, const MemoryRequest& request);
  // A whole segment that is free and out of its tree leaves its pool.
  void take_out(Block* segment, ReturnedMemory& returned);
  bool empty() const { return first_blocks_.empty(); }
  bool contains(Address address) const { return first_blocks_.count(address) != 0; }
  template <class Visit>
  void for_each(Visit visit) const {  // by address; the first block of each
    for (const auto& [address, first] : first_blocks_) visit(first);
  }

 private:
  Upstream& upstream_;
  SpinLock& lock_;
  const AllocatorSettings& settings_;
  const MemoryLimit& limit_;
  BlockCache& cache_;
  std::map<Address, Block*> first_blocks_;
};

}  // namespace mt::runtime
