// Device memory with PyTorch's caching policy, over any upstream.
//
// A request is rounded (AllocatorSettings::block_size) and served by the smallest cached block of its stream
// that holds it, which is split if the rest is worth keeping. Without one, a segment is taken from upstream.
// A freed block merges with its free neighbours and stays cached: work enqueued on its own stream runs in
// order, so the next user of that stream may have it at once. Uses by other streams are waited for with
// events (UnfinishedUses). Memory goes back to the device in empty_cache(), by garbage collection, or when the
// device is full.
//
// The allocator is the locks and the order of these steps. What it works with are parts, each with its own
// fields: BlockCache (blocks, their age, and the Ledger of statistics and history), PoolSet (default and private
// pools), FixedSegments and GrowingSegments (memory of the device), UnfinishedUses (streams and events),
// MemoryLimit, Watchers.
//
// Note [Memory of graphs]
// A graph reads and writes at the addresses of its capture whenever it is replayed. So what the capturing thread
// allocates comes from a private pool, which the graph retains: blocks that are given back serve later requests of the
// same capture (the order of the graph keeps them apart), of other captures into that pool, and of nobody else. While
// anything is captured, the device is asked nothing that a capture forbids: uses by other streams are marked with events
// only when the capture has ended, nobody waits for the device, and no memory goes back to it.
//
// Files: caching_allocator.cpp (allocate, free, growing), allocator_release.cpp (giving back),
// allocator_access.cpp (settings, pools, statistics, snapshots), allocator_oom.cpp (the end).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/alloc_conf.h"
#include "runtime/block_cache.h"
#include "runtime/fixed_segments.h"
#include "runtime/growing_segments.h"
#include "runtime/ledger.h"
#include "runtime/memory_limit.h"
#include "runtime/pool_set.h"
#include "runtime/snapshot.h"
#include "runtime/spin_lock.h"
#include "runtime/unfinished_uses.h"
#include "runtime/upstream.h"
#include "runtime/watchers.h"

namespace mt::runtime {

struct AllocatorIdentity {
  std::string device_name;  // as in "<name> out of memory"
  int device_index = 0;
  std::string conf_variable;  // that the settings come from
  std::string malloc_name;    // as in the setting throw_on_<name>_oom
};

class CachingAllocator {
 public:
  CachingAllocator(std::shared_ptr<Upstream> upstream, AllocatorIdentity identity,
                   AllocatorSettings settings = {});
  // The destructor gives no memory back to upstream: an allocator lives as long as its device, and once the
  // process is exiting no device call is made.
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // A block of at least `bytes` for work on `stream`; nullptr for 0 bytes. Throws out_of_memory.
  Block* allocate(size_t bytes, StreamHandle stream);
  // The block may be reused by its own stream at once, by anyone after the recorded streams have passed this
  // point.
  void free(Block* block);
  void record_stream(Block* block, StreamHandle stream);

  void empty_cache();           // nothing while a graph is captured
  void empty_pool(int64_t id);  // the same for one private pool
  // Releases the longest unused segments while more than the threshold is reserved.
  void collect_garbage();

  // Private pools. Between begin_pool and end_pool this thread's requests are served by the pool, which the
  // first mention of its id makes. A pool without users gives its memory back with the cache.
  void begin_pool(int64_t id, const PoolOptions& options);
  void end_pool(int64_t id, std::thread::id thread = std::this_thread::get_id());
  void retain_pool(int64_t id, const PoolOptions& options);
  void release_pool(int64_t id);
  int pool_users(int64_t id);
  std::map<int64_t, PoolStat> reserved_by_pools();
  // A stream of the device is captured from here to there; captures are counted.
  void capture_began() { uses_.capture_began(); }
  void capture_ended() { uses_.capture_ended(); }
  // Off: every request goes to the device (or to `source`) and every free back to it.
  void set_caching(bool on, std::shared_ptr<RawSource> source = {});
  bool caching();

  // Throws out_of_memory when `bytes` more would pass this process's limit.
  void check_limit(size_t bytes);
  void set_memory_fraction(double fraction);
  void set_memory_limit(size_t bytes);  // kUnlimited: none
  size_t memory_limit();                // the smaller of fraction and limit, kUnlimited for none
  void set_settings(const AllocatorSettings& settings);
  AllocatorSettings settings();

  AllocatorStats stats();
  void set_stat(size_t index, int64_t value);
  void reset_peak_stats();
  void reset_accumulated_stats();

  Snapshot snapshot(bool include_trace);
  std::vector<BlockState> cached_blocks(bool small);
  // Takes over raw memory of upstream as a cached block.
  void adopt(Address address, size_t bytes, StreamHandle stream, bool small);

  // An empty function takes the watcher away.
  void set_stack_recorder(RecordStack record_stack, DescribeStack describe_stack = {});
  void set_out_of_memory_observer(OutOfMemoryObserver observer);
  void set_memory_observer(MemoryObserver observer);
  void set_memory_marks(MemoryMarks marks);
  // History of the last `max_entries` actions; 0 stops recording. Bit i of `skipped` leaves TraceAction i out.
  void record_history(size_t max_entries, bool clear, uint32_t skipped = 0);

 private:
  // The right to grow, shrink or complete. Waiting for it goes through upstream, which may hold a lock of its
  // own.
  class Turn {
   public:
    explicit Turn(CachingAllocator& allocator) : turn_(allocator.turn_) {
      allocator.upstream_->wait_for_turn(turn_);
    }
    ~Turn() { turn_.unlock(); }
    Turn(const Turn&) = delete;

   private:
    std::recursive_mutex& turn_;
  };

  // With `lock_` held.
  Ledger& ledger() { return cache_.ledger(); }
  MemoryRequest make_request(size_t bytes, StreamHandle stream, uint64_t stack);
  bool is_unsafe_to_release(const Block* block) const;
  std::vector<Block*> oversize_blocks(const MemoryRequest& request) const;
  std::vector<Block*> old_blocks(size_t bytes_to_free);

  // With a Turn, without `lock_`: they call upstream.
  Block* allocate_slowly(size_t bytes, StreamHandle stream, uint64_t stack);
  Block* grow(const MemoryRequest& request, bool retry, std::string& refusal);
  size_t release(const std::function<std::vector<Block*>()>& choose);
  void release_directly();
  void collect_garbage_in_turn();
  void finish_pending_uses();
  [[noreturn]] void throw_out_of_memory(const MemoryRequest& request, const std::string& refusal);

  const std::shared_ptr<Upstream> upstream_;
  const AllocatorIdentity identity_;

  // See Note [Pools never call upstream under their lock].
  SpinLock lock_;              // the settings and all parts but the watchers
  std::recursive_mutex turn_;  // one thread at a time grows, shrinks or completes; upstream may re-enter

  AllocatorSettings
      settings_;  // set with both locks held, so that a growing thread may read them without `lock_`
  BlockCache cache_;
  PoolSet pools_;
  UnfinishedUses uses_;
  MemoryLimit limit_;
  FixedSegments fixed_;
  GrowingSegments growing_;
  Watchers watchers_;
};

}  // namespace mt::runtime
