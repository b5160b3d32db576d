// Segments that grow in place (expandable_segments).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/alloc_conf.h"
#include "runtime/block_cache.h"
#include "runtime/memory_limit.h"
#include "runtime/returned_memory.h"
#include "runtime/spin_lock.h"
#include "runtime/upstream.h"
#include "runtime/virtual_segment.h"

namespace mt::runtime {

// Note [Growing segments]
// A segment of fixed size that is cut up for small requests cannot serve a large one, and cannot go back while
// one of its pieces lives. A growing segment reserves addresses for more than the whole device once, and puts
// memory behind them as requests come: the next request continues where the last one ended, and free granules
// (2 MiB in the small pool, the large segment size in the large one) go back alone. Addresses are only mapped
// and unmapped in a turn (CachingAllocator::Turn); other threads may meanwhile take and give back mapped blocks,
// so what grows is held as if it were allocated while upstream is called.
class GrowingSegments {
 public:
  GrowingSegments(Upstream& upstream, SpinLock& lock, const AllocatorSettings& settings,
                  const MemoryLimit& limit, BlockCache& cache)
      : upstream_(upstream), lock_(lock), settings_(settings), limit_(limit), cache_(cache) {}
  GrowingSegments(const GrowingSegments&) = delete;

  // In a turn, without the allocator's lock: it calls upstream.
  // A block of at least the request's size with memory behind it, held until it is handed out. Null with a
  // refusal.
  Block* grow(const MemoryRequest& request, std::string& refusal);

  // With the lock held.
  // The block is free and out of its tree. Its whole granules lose their memory; what remains at its ends stays
  // free. With the last granule, the addresses go too.
  void take_out(Block* block, ReturnedMemory& returned);
  template <class Visit>
  void for_each(Visit visit) const {  // the first block of each
    for (const auto& segment : segments_) visit(static_cast<const Block*>(segment->first));
  }

 private:
  // With the lock held.
  Block* find_room(const MemoryRequest& request) const;
  void add(Address address, size_t bytes, const MemoryRequest& request);
  void put_back(Block* held);
  // Without it.
  bool reserve(const MemoryRequest& request);
  Block* map_front(Block* unmapped, size_t bytes, std::string& refusal);
  bool extend(Block* held, size_t bytes, std::string& refusal);

  Upstream& upstream_;
  SpinLock& lock_;
  const AllocatorSettings& settings_;
  const MemoryLimit& limit_;
  BlockCache& cache_;
  std::vector<std::unique_ptr<VirtualSegment>> segments_;  // of all pools, the oldest first
};

}  // namespace mt::runtime
