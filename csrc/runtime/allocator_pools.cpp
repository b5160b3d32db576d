// CachingAllocator: private pools, and working without a cache.
#include <algorithm>
#include <exception>

#include "base/error.h"
#include "runtime/caching_allocator.h"

namespace mt::runtime {

MemoryPool* CachingAllocator::routed_pool() {
  const auto self = std::this_thread::get_id();
  const auto found = std::find_if(routes_.rbegin(), routes_.rend(),
                                  [&](const Route& route) { return route.thread == self; });
  return found == routes_.rend() ? usual_pool_ : found->pool;
}

MemoryPool& CachingAllocator::pool_at(int64_t id, const char* function) {
  const auto found = pools_.find(id);
  MT_CHECK(found != pools_.end(), function, ": there is no memory pool (0, ", id, ") on ",
           identity_.device_name, " ", identity_.device_index, ".");
  return *found->second;
}

MemoryPool& CachingAllocator::make_pool(int64_t id, const PoolOptions& options) {
  MT_CHECK_AS(value, id > 0, "The id of a private pool is positive, but it is ", id, ".");
  auto& pool = pools_[id];
  if (!pool) {
    pool = std::make_unique<MemoryPool>();
    pool->id = id;
    pool->options = options;
  }
  ++pool->users;
  return *pool;
}

void CachingAllocator::retain_pool(int64_t id, const PoolOptions& options) {
  Guard guard(lock_);
  make_pool(id, options);
}

void CachingAllocator::release_pool(int64_t id) {
  Guard guard(lock_);
  MemoryPool& pool = pool_at(id, "release_pool");
  MT_CHECK(pool.users > 0, "release_pool: the memory pool (0, ", id, ") has no users left.");
  --pool.users;
  drop_unused_pools();
}

void CachingAllocator::begin_pool(int64_t id, const PoolOptions& options) {
  Guard guard(lock_);
  routes_.push_back({std::this_thread::get_id(), &make_pool(id, options)});
}

void CachingAllocator::end_pool(int64_t id) {
  Guard guard(lock_);
  MemoryPool& pool = pool_at(id, "end_pool");
  const auto self = std::this_thread::get_id();
  const auto found = std::find_if(routes_.rbegin(), routes_.rend(), [&](const Route& route) {
    return route.thread == self && route.pool == &pool;
  });
  MT_CHECK(found != routes_.rend(), "end_pool: this thread does not allocate from the memory pool (0, ", id,
           ").");
  routes_.erase(std::next(found).base());
  --pool.users;
  drop_unused_pools();
}

int CachingAllocator::pool_users(int64_t id) {
  Guard guard(lock_);
  const auto found = pools_.find(id);
  return found == pools_.end() ? 0 : found->second->users;
}

std::map<int64_t, PoolStat> CachingAllocator::reserved_by_pools() {
  Guard guard(lock_);
  std::map<int64_t, PoolStat> result;
  for (const auto& [id, pool] : pools_) result[id] = pool->reserved;
  return result;
}

void CachingAllocator::drop_unused_pools() {
  std::erase_if(pools_,
                [](const auto& entry) { return entry.second->users == 0 && entry.second->is_empty(); });
}

void CachingAllocator::empty_pool(int64_t id) {
  Turn turn(*this);
  bool waiting;
  {
    Guard guard(lock_);
    if (!pools_.count(id)) return;
    waiting = !pending_.empty();
  }
  if (waiting) synchronize_and_complete();
  release([&] {
    const auto found = pools_.find(id);
    return found == pools_.end() ? std::vector<Block*>{} : whole_segments_of(*found->second);
  });
}

// Pools that their makers offered for this: a free block of the same stream that is large enough.
Block* CachingAllocator::last_resort(const Request& request) {
  Guard guard(lock_);
  for (const auto& [id, pool] : pools_) {
    if (!pool->options.use_on_oom || pool.get() == request.pool) continue;
    if (Block* block = pool->tree(request.small).best_fit(request.stream, request.size)) {
      tree(block).erase(block);
      return block;
    }
  }
  return nullptr;
}

void CachingAllocator::set_caching(bool on, std::shared_ptr<RawSource> source) {
  Turn turn(*this);
  Guard guard(lock_);
  MT_CHECK(!source || segments_.empty(), "The allocator of ", identity_.device_name, " ",
           identity_.device_index,
           " is in use already; another one can only be chosen before the first tensor.");
  if (source) direct_pool_.options.source = std::move(source);
  usual_pool_ = on ? &default_pool_ : &direct_pool_;
}

bool CachingAllocator::caching() {
  Guard guard(lock_);
  return usual_pool_ == &default_pool_;
}

// free() runs in destructors: a device that refuses is asked again with the next free or empty_cache().
void CachingAllocator::release_directly() {
  try {
    Turn turn(*this);
    complete_pending_uses();
    release([this] { return whole_segments_of(direct_pool_); });
  } catch (const std::exception& failure) {
    Guard guard(lock_);
    event_error_ = failure.what();
  }
}

}  // namespace mt::runtime
