// What streams may still be doing with blocks that were given back. Uses by streams other than a block's own
// (record_stream) keep it apart until an event, or a synchronisation of the device, says that they have ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/block_cache.h"
#include "runtime/spin_lock.h"
#include "runtime/stream_order.h"
#include "runtime/upstream.h"

namespace mt::runtime {

class UnfinishedUses {
 public:
  UnfinishedUses(Upstream& upstream, SpinLock& lock, BlockCache& cache)
      : upstream_(upstream), lock_(lock), cache_(cache) {}
  ~UnfinishedUses();
  UnfinishedUses(const UnfinishedUses&) = delete;

  // With the allocator's lock held. Counted are uses by other streams.
  bool empty() const { return pending_.empty(); }
  size_t count() const { return pending_.count(); }
  template <class Visit>
  void for_each(Visit visit) const {
    pending_.for_each(visit);
  }
  // Work that is still queued may use the block: the device was not synchronised since it was given back.
  bool may_run(const Block* block) const { return block->last_used > synchronized_; }
  // Why blocks wait for a synchronisation. Kept for the report of an allocation that fails: free() cannot throw.
  const std::string& error() const { return error_; }
  void set_error(std::string error) { error_ = std::move(error); }

  // Without the lock: they call upstream. The last two in a turn (CachingAllocator::Turn).
  void await(Block* block);  // which is given back; one event for each stream that uses it
  void complete();           // retires the blocks whose uses have ended
  void synchronize();        // waits for the device: all uses end

  // Note [Memory of graphs] in caching_allocator.h.
  bool capturing() const { return captures_.load(std::memory_order_acquire) != 0; }
  void capture_began();
  void capture_ended();

 private:
  void finish(Block* block) {
    if (--block->pending_events == 0) cache_.retire(block, 0);
  }

  Upstream& upstream_;
  SpinLock& lock_;
  BlockCache& cache_;
  StreamOrder pending_;
  std::atomic<int> captures_{0};   // changed with the lock held
  std::vector<Block*> postponed_;  // given back during a capture: their events are recorded when it has ended
  uint64_t synchronized_ = 0;      // every use up to this time has finished
  std::string error_;
  bool completing_ = false;  // guarded by the turn
};

}  // namespace mt::runtime
