// Device memory with PyTorch's caching policy, over any upstream.
//
// A request is rounded (AllocatorSettings::block_size) and served by the smallest cached block of its stream
// that holds it, which is split if the rest is worth keeping. Without one, a segment is taken from upstream.
// A freed block merges with its free neighbours and stays cached: work enqueued on its own stream runs in
// order, so the next user of that stream may have it at once. Uses by other streams are waited for with
// events (StreamOrder). Memory goes back to the device in empty_cache(), by garbage collection, or when the
// device is full.
//
// Files: caching_allocator.cpp (the hot path, other streams, growing), allocator_expand.cpp (segments that grow
// in place), allocator_release.cpp (giving back, limits), allocator_pools.cpp (private pools, no caching),
// allocator_oom.cpp (the end), allocator_inspect.cpp (statistics, snapshots, watchers).
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/alloc_conf.h"
#include "runtime/free_lists.h"
#include "runtime/memory_pool.h"
#include "runtime/snapshot.h"
#include "runtime/spin_lock.h"
#include "runtime/stats.h"
#include "runtime/stream_order.h"
#include "runtime/trace.h"
#include "runtime/upstream.h"

namespace mt::runtime {

struct OomFacts;  // oom_report.h

struct MemoryEvent {
  Address address;  // 0: it could not be had
  int64_t bytes;    // positive: handed out; negative: given back
  int64_t total_allocated;
  int64_t total_reserved;
  StreamHandle stream;
};

// A memory checker's functions: these bytes now belong to somebody, or to nobody. Null for none.
struct MemoryMarks {
  void (*used)(const void* address, uint64_t bytes) = nullptr;
  void (*free)(const void* address, uint64_t bytes) = nullptr;
};

// Called outside the allocator's lock, from the allocating thread.
struct Watchers {
  std::function<uint64_t()> record_stack;                // an id for the current stack, 0 for none
  std::function<std::string(uint64_t)> describe_stack;   // "model.py:88 in forward", empty for none
  std::function<void(const MemoryEvent&)> memory_event;  // the profiler
  // An allocation is about to fail: its rounded size, and the device's total and free bytes.
  std::function<void(size_t, size_t, size_t)> out_of_memory;
  MemoryMarks marks;  // the software NPU's sanitizer
};

struct AllocatorIdentity {
  std::string device_name = "NPU";  // as in "NPU out of memory"
  int device_index = 0;
  std::string conf_variable = "MINDTORCH_NPU_ALLOC_CONF";
};

class CachingAllocator {
 public:
  CachingAllocator(std::shared_ptr<Upstream> upstream, AllocatorIdentity identity,
                   AllocatorSettings settings = {});
  // Gives nothing back to upstream: an allocator lives as long as its device, and once the process is exiting
  // no device call is made.
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // A block of at least `bytes` for work on `stream`; nullptr for 0 bytes. Throws out_of_memory.
  Block* allocate(size_t bytes, StreamHandle stream);
  // The block may be reused by its own stream at once, by anyone after the recorded streams have passed this
  // point.
  void free(Block* block);
  void record_stream(Block* block, StreamHandle stream);

  void empty_cache();
  void empty_pool(int64_t id);  // the same for one private pool

  // Private pools. Between begin_pool and end_pool this thread's requests are served by the pool, which the
  // first mention of its id makes. A pool without users gives its memory back with the cache.
  void begin_pool(int64_t id, const PoolOptions& options);
  void end_pool(int64_t id);
  void retain_pool(int64_t id, const PoolOptions& options);
  void release_pool(int64_t id);
  int pool_users(int64_t id);
  std::map<int64_t, PoolStat> reserved_by_pools();
  // Off: every request goes to the device (or to `source`) and every free back to it.
  void set_caching(bool on, std::shared_ptr<RawSource> source = {});
  bool caching();

  // Releases the longest unused segments while more than the threshold is reserved.
  void collect_garbage();
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
  void set_stack_recorder(std::function<uint64_t()> record_stack,
                          std::function<std::string(uint64_t)> describe_stack = {});
  void set_out_of_memory_observer(std::function<void(size_t, size_t, size_t)> out_of_memory);
  void set_memory_observer(std::function<void(const MemoryEvent&)> memory_event);
  void set_memory_marks(MemoryMarks marks);
  // History of the last `max_entries` actions; 0 stops recording. Bit i of `skipped` leaves TraceAction i out.
  void record_history(size_t max_entries, bool clear, uint32_t skipped = 0);

 private:
  struct Request {
    size_t requested;
    size_t size;
    StreamHandle stream;
    bool small;
    uint64_t stack;
    MemoryPool* pool;
  };
  struct Route {
    std::thread::id thread;
    MemoryPool* pool;
  };
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
  using Guard = std::lock_guard<SpinLock>;

  // With `lock_` held. They call nothing outside.
  Request make_request(size_t bytes, StreamHandle stream, uint64_t stack);
  Block* take_cached(const Request& request);
  Block* hand_out(Block* block, const Request& request);
  void cache_block(Block* block, uint64_t stack);
  void finish_use(Block* block);
  Block* add_segment(Address address, size_t bytes, const Request& request);
  std::vector<Block*> old_segments(size_t bytes_to_free);
  std::vector<Block*> oversize_blocks(const Request& request);
  std::vector<Block*> whole_segments();  // of the default pool and of those without users
  std::vector<Block*> whole_segments_of(MemoryPool& pool);
  static FreeTree& tree(const Block* block) { return block->pool->tree(block->small); }
  // Work that is still queued may use it, and nobody but us keeps the order.
  bool is_unsafe_to_release(const Block* block) const {
    return block->last_used > synchronized_ && !(block->pool->options.direct && block->pool->options.source);
  }
  MemoryPool* pool_of_this_thread() { return routes_.empty() ? usual_pool_ : routed_pool(); }
  MemoryPool* routed_pool();
  MemoryPool& pool_at(int64_t id, const char* function);
  MemoryPool& make_pool(int64_t id, const PoolOptions& options);
  void drop_unused_pools();
  void trace(TraceAction action, Address address, size_t size, StreamHandle stream, uint64_t stack,
             const MemoryPool* pool) {
    if (trace_.enabled()) [[unlikely]]
      trace_.add({action, address, size, stream, 0, stack, pool ? pool->id : 0});
  }

  // What a release has taken out of the pools and upstream still has to get.
  struct Returned {
    struct Segment {
      Address address;
      size_t size;
      StreamHandle stream;
      std::shared_ptr<RawSource> source;
    };
    std::vector<Segment> segments;
    std::vector<std::pair<Address, MappingHandle>> mappings;
    std::vector<Address> ranges;
    size_t bytes = 0;
  };
  void take_out(Block* block, Returned& returned);
  // Growing segments.
  Block* find_room(const Request& request);
  void add_range(Address address, size_t bytes, const Request& request);
  void hold(Block* block);
  void put_back(Block* block);
  void unmap_whole_granules(Block* block, Returned& returned);
  static size_t releasable_bytes(const Block* block) {
    return block->range ? block->range->whole_bytes(block) : block->size;
  }

  // With a Turn, without `lock_`: they call upstream.
  Block* allocate_slowly(size_t bytes, StreamHandle stream, uint64_t stack);
  Block* grow(const Request& request, bool retry, std::string& refusal);
  Block* expand(const Request& request, std::string& refusal);
  bool reserve_range(const Request& request);
  Block* map_front(Block* unmapped, size_t bytes, std::string& refusal);
  bool extend(Block* held, size_t bytes, std::string& refusal);
  void give_back(const Returned& returned);
  size_t segment_bytes(const Request& request) const {
    return request.pool->options.direct ? request.size : settings_.segment_size(request.size);
  }
  Block* last_resort(const Request& request);
  void release_directly();
  void complete_pending_uses();
  void synchronize_and_complete();
  size_t release(const std::function<std::vector<Block*>()>& choose);
  bool collect_garbage_in_turn();
  void describe_free_memory(const Request& request, OomFacts& facts);
  void describe_stranded_memory(OomFacts& facts, std::vector<const Block*>& pins);
  [[noreturn]] void throw_out_of_memory(const Request& request, size_t segment, const std::string& refusal);

  void wait_for_other_streams(Block* block);
  uint64_t current_stack();
  void tell_watchers(const MemoryEvent& event);
  MemoryMarks memory_marks();
  void set_watchers(const Watchers& watchers);
  void update_observed();

  const std::shared_ptr<Upstream> upstream_;
  const AllocatorIdentity identity_;

  // See Note [Pools never call upstream under their lock].
  SpinLock lock_;              // all state below
  std::recursive_mutex turn_;  // one thread at a time grows, shrinks or completes; upstream may re-enter
  bool completing_ = false;    // guarded by turn_

  AllocatorSettings settings_;
  size_t limit_ = kUnlimited;
  AllocatorStats stats_;
  BlockStore store_;
  MemoryPool default_pool_;
  MemoryPool direct_pool_;                                // while caching is off
  std::map<int64_t, std::unique_ptr<MemoryPool>> pools_;  // the private ones
  MemoryPool* usual_pool_ = &default_pool_;
  std::vector<Route> routes_;  // threads that allocate from a private pool, the innermost last
  StreamOrder pending_;
  std::map<Address, Block*> segments_;  // first block of each
  uint64_t tick_ = 1;                   // allocations so far
  uint64_t synchronized_ = 0;           // every use up to this tick has finished
  std::string event_error_;
  TraceLog trace_;

  std::atomic<bool> observed_{false};  // someone watches or records: one branch on the hot path
  std::atomic<std::shared_ptr<const Watchers>> watchers_;
};

}  // namespace mt::runtime
