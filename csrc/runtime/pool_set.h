// The pools of an allocator: the default one, private ones by id, and the one that stands for "no cache".
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/memory_pool.h"

namespace mt::runtime {

// Used with the allocator's lock held.
//
// Between begin and end a thread's requests are served by a private pool, which the first mention of its id
// makes. A pool without users gives its memory back with the cache.
class PoolSet {
 public:
  explicit PoolSet(std::string device) : device_(std::move(device)) { direct_.options.direct = true; }
  PoolSet(const PoolSet&) = delete;  // blocks point to their pools

  MemoryPool* of_this_thread() { return routes_.empty() ? usual_ : routed(); }
  MemoryPool& default_pool() { return default_; }
  MemoryPool& direct_pool() { return direct_; }
  MemoryPool* find(int64_t id);  // null: there is none

  void begin(int64_t id, const PoolOptions& options);
  void end(int64_t id, std::thread::id thread);
  void retain(int64_t id, const PoolOptions& options);
  void release(int64_t id);
  int users(int64_t id);
  std::map<int64_t, PoolStat> reserved() const;
  // A pool goes with its last user and its last segment.
  void drop_unused();

  // Off: requests that no private pool serves go to the device, or to the source that was given last.
  void set_caching(bool on, std::shared_ptr<RawSource> source);
  bool caching() const { return usual_ == &default_; }

  // Of the pools that nobody keeps: the default and the direct one, and private ones without users.
  std::vector<Block*> releasable_blocks();
  // Pools that their makers offered for it: a free block of the same stream that is large enough, taken out of
  // its tree. Null: none.
  Block* borrow(const MemoryRequest& request);

  template <class Visit>
  void for_each_private(Visit visit) const {
    for (const auto& [id, pool] : private_) visit(*pool);
  }

 private:
  struct Route {
    std::thread::id thread;
    MemoryPool* pool;
  };

  MemoryPool* routed();
  MemoryPool& make(int64_t id, const PoolOptions& options);
  MemoryPool& existing(int64_t id, const char* function);

  const std::string device_;  // as in "on <device>"
  MemoryPool default_;
  MemoryPool direct_;
  MemoryPool* usual_ = &default_;
  std::map<int64_t, std::unique_ptr<MemoryPool>> private_;
  std::vector<Route> routes_;  // threads that allocate from a private pool, the innermost last
};

}  // namespace mt::runtime
