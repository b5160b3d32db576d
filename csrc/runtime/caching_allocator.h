// Device memory with PyTorch's caching policy, over any upstream.
//
// A request is rounded (AllocatorSettings::block_size) and served by the smallest cached block of its stream
// that holds it, which is split if the rest is worth keeping. Without one, a segment is taken from upstream.
// A freed block merges with its free neighbours and stays cached: work enqueued on its own stream runs in
// order, so the next user of that stream may have it at once. Uses by other streams are waited for with
// events (StreamOrder). Memory goes back to the device in empty_cache(), by garbage collection, or when the
// device is full.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/alloc_conf.h"
#include "runtime/free_lists.h"
#include "runtime/snapshot.h"
#include "runtime/spin_lock.h"
#include "runtime/stats.h"
#include "runtime/stream_order.h"
#include "runtime/trace.h"
#include "runtime/upstream.h"

namespace mt::runtime {

struct MemoryEvent {
  Address address;
  int64_t bytes;  // positive: handed out; negative: given back
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
  std::function<void(const MemoryEvent&)> memory_event;  // the profiler
  MemoryMarks marks;                                     // the software NPU's sanitizer
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
  void set_stack_recorder(std::function<uint64_t()> record_stack);
  void set_memory_observer(std::function<void(const MemoryEvent&)> memory_event);
  void set_memory_marks(MemoryMarks marks);
  // History of the last `max_entries` actions; 0 stops recording.
  void record_history(size_t max_entries, bool clear);

 private:
  struct Request {
    size_t requested;
    size_t size;
    StreamHandle stream;
    bool small;
    uint64_t stack;
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
  Request make_request(size_t bytes, StreamHandle stream, uint64_t stack) const;
  Block* take_cached(const Request& request);
  Block* hand_out(Block* block, const Request& request);
  void cache_block(Block* block, uint64_t stack);
  void finish_use(Block* block);
  Block* add_segment(Address address, size_t bytes, StreamHandle stream, bool small);
  std::vector<Block*> old_segments(size_t bytes_to_free);
  std::vector<Block*> oversize_blocks(const Request& request);
  std::vector<Block*> whole_segments();
  FreeTree& tree(bool small) { return small ? small_ : large_; }
  bool used_since_synchronize(const Block* block) const { return block->last_used > synchronized_; }
  void trace(TraceAction action, Address address, size_t size, StreamHandle stream, uint64_t stack) {
    if (trace_.enabled()) [[unlikely]]
      trace_.add(action, address, size, stream, stack);
  }

  // With a Turn, without `lock_`: they call upstream.
  Block* allocate_slowly(size_t bytes, StreamHandle stream, uint64_t stack);
  Block* grow(const Request& request, bool retry, std::string& refusal);
  void complete_pending_uses();
  void synchronize_and_complete();
  size_t release(const std::function<std::vector<Block*>()>& choose);
  bool collect_garbage_in_turn();
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
  FreeTree small_, large_;
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
