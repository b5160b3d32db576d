#include "runtime/pool_set.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/virtual_segment.h"

namespace mt::runtime {

std::vector<Block*> MemoryPool::releasable_blocks() {
  std::vector<Block*> result;
  for (bool is_small : {false, true})
    tree(is_small).for_each([&](Block* block) {
      if (releasable_bytes(block) > 0) result.push_back(block);
    });
  return result;
}

MemoryPool* PoolSet::routed() {
  const auto self = std::this_thread::get_id();
  const auto found = std::find_if(routes_.rbegin(), routes_.rend(),
                                  [&](const Route& route) { return route.thread == self; });
  return found == routes_.rend() ? usual_ : found->pool;
}

MemoryPool* PoolSet::find(int64_t id) {
  const auto found = private_.find(id);
  return found == private_.end() ? nullptr : found->second.get();
}

MemoryPool& PoolSet::existing(int64_t id, const char* function) {
  MemoryPool* pool = find(id);
  MT_CHECK(pool, function, ": there is no memory pool (0, ", id, ") on ", device_, ".");
  return *pool;
}

MemoryPool& PoolSet::make(int64_t id, const PoolOptions& options) {
  MT_CHECK_AS(value, id > 0, "The id of a private pool is positive, but it is ", id, ".");
  auto& pool = private_[id];
  if (!pool) {
    pool = std::make_unique<MemoryPool>();
    pool->id = id;
    pool->options = options;
  }
  ++pool->users;
  return *pool;
}

void PoolSet::begin(int64_t id, const PoolOptions& options) {
  routes_.push_back({std::this_thread::get_id(), &make(id, options)});
}

void PoolSet::end(int64_t id, std::thread::id thread) {
  MemoryPool& pool = existing(id, "end_pool");
  const auto found = std::find_if(routes_.rbegin(), routes_.rend(), [&](const Route& route) {
    return route.thread == thread && route.pool == &pool;
  });
  MT_CHECK(found != routes_.rend(), "end_pool: the thread does not allocate from the memory pool (0, ", id,
           ").");
  routes_.erase(std::next(found).base());
  --pool.users;
  drop_unused();
}

void PoolSet::retain(int64_t id, const PoolOptions& options) { make(id, options); }

void PoolSet::release(int64_t id) {
  MemoryPool& pool = existing(id, "release_pool");
  MT_CHECK(pool.users > 0, "release_pool: the memory pool (0, ", id, ") has no users left.");
  --pool.users;
  drop_unused();
}

int PoolSet::users(int64_t id) {
  const MemoryPool* pool = find(id);
  return pool ? pool->users : 0;
}

std::map<int64_t, PoolStat> PoolSet::reserved() const {
  std::map<int64_t, PoolStat> result;
  for (const auto& [id, pool] : private_) result[id] = pool->reserved;
  return result;
}

void PoolSet::drop_unused() {
  std::erase_if(private_,
                [](const auto& entry) { return entry.second->users == 0 && entry.second->is_empty(); });
}

void PoolSet::set_caching(bool on, std::shared_ptr<RawSource> source) {
  if (source) direct_.options.source = std::move(source);
  usual_ = on ? &default_ : &direct_;
}

std::vector<Block*> PoolSet::releasable_blocks() {
  std::vector<Block*> result = default_.releasable_blocks();
  const auto add = [&](MemoryPool& pool) {
    const std::vector<Block*> more = pool.releasable_blocks();
    result.insert(result.end(), more.begin(), more.end());
  };
  add(direct_);
  for_each_private([&](MemoryPool& pool) {
    if (pool.users == 0) add(pool);
  });
  return result;
}

Block* PoolSet::borrow(const MemoryRequest& request) {
  for (const auto& [id, pool] : private_) {
    if (!pool->options.use_on_oom || pool.get() == request.pool) continue;
    FreeTree& free_blocks = pool->tree(request.small);
    if (Block* block = free_blocks.best_fit(request.stream, request.size)) {
      free_blocks.erase(block);
      return block;
    }
  }
  return nullptr;
}

}  // namespace mt::runtime
