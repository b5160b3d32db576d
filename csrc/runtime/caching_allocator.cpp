#include "runtime/caching_allocator.h"

#include <algorithm>

#include "base/error.h"

namespace mt::runtime {
namespace {

constexpr size_t kLargestRequest = size_t(1) << 60;

}  // namespace

CachingAllocator::CachingAllocator(std::shared_ptr<Upstream> upstream, AllocatorIdentity identity,
                                   AllocatorSettings settings)
    : upstream_(std::move(upstream)),
      identity_(std::move(identity)),
      cache_(settings_),
      pools_(join_text(identity_.device_name, " ", identity_.device_index)),
      uses_(*upstream_, lock_, cache_),
      limit_(*upstream_, lock_, settings_, ledger()),
      fixed_(*upstream_, lock_, settings_, limit_, cache_),
      growing_(*upstream_, lock_, settings_, limit_, cache_) {
  set_settings(settings);
}

// --- the hot path ------------------------------------------------------------------------------------------

MemoryRequest CachingAllocator::make_request(size_t bytes, StreamHandle stream, uint64_t stack) {
  const size_t size = settings_.block_size(bytes);
  return {bytes, size, stream, size <= kSmallSize, stack, pools_.of_this_thread()};
}

Block* CachingAllocator::allocate(size_t bytes, StreamHandle stream) {
  if (bytes - 1 >= kLargestRequest) [[unlikely]] {  // also 0, which wraps around
    if (bytes == 0) return nullptr;
    fail(ErrorKind::out_of_memory, identity_.device_name,
         " out of memory. Tried to allocate more than 1 EiB (", bytes,
         " bytes). Sizes this large come from an overflowing or negative size computation.");
  }
  const bool observed = watchers_.any();
  const uint64_t stack = observed ? watchers_.current_stack() : 0;
  Block* block = nullptr;
  {
    SpinGuard guard(lock_);
    if (uses_.empty() || (settings_.lazy_reclaim && uses_.count() <= kMostLazyUses)) [[likely]]
      block = cache_.serve(make_request(bytes, stream, stack));
  }
  if (!block) [[unlikely]]
    block = allocate_slowly(bytes, stream, stack);
  if (observed) [[unlikely]] {
    const AllocatorStats now = stats();
    watchers_.tell({block->ptr, int64_t(block->size), now.allocated_bytes.all.current,
                    now.reserved_bytes.all.current, stream});
    if (const MemoryMarks marks = watchers_.marks(); marks.used) marks.used(block->address(), bytes);
  }
  return block;
}

void CachingAllocator::free(Block* block) {
  if (!block) return;
  const bool observed = watchers_.any();
  const uint64_t stack = observed ? watchers_.current_stack() : 0;
  if (observed) [[unlikely]] {
    // While the block is still the caller's: a moment later another thread may have it.
    if (const MemoryMarks marks = watchers_.marks(); marks.free)
      marks.free(block->address(), block->requested);
  }
  MemoryEvent event{};
  bool wait = false, direct = false;
  {
    SpinGuard guard(lock_);
    MT_CHECK(block->allocated, "The block at ", block->address(), " is freed twice.");
    block->allocated = false;
    block->last_used = cache_.now();
    ledger().given_back(block, stack);
    if (observed) [[unlikely]]
      event = {block->ptr, -int64_t(block->size), int64_t(ledger().allocated()), int64_t(ledger().reserved()),
               block->stream};
    wait = !block->used_by.empty();
    direct = block->pool->options.direct;
    if (wait) block->pending_events = uint32_t(block->used_by.size());
    else cache_.retire(block, stack);
  }
  if (wait) [[unlikely]]
    uses_.await(block);
  if (direct) [[unlikely]]
    release_directly();
  if (observed) [[unlikely]]
    watchers_.tell(event);
}

void CachingAllocator::record_stream(Block* block, StreamHandle stream) {
  if (!block || block->stream == stream) return;
  SpinGuard guard(lock_);
  MT_CHECK(block->allocated, "record_stream: the block at ", block->address(), " has been freed.");
  if (std::find(block->used_by.begin(), block->used_by.end(), stream) == block->used_by.end())
    block->used_by.push_back(stream);
}

// --- growing -----------------------------------------------------------------------------------------------

Block* CachingAllocator::allocate_slowly(size_t bytes, StreamHandle stream, uint64_t stack) {
  const auto try_cache = [&]() -> Block* {
    SpinGuard guard(lock_);
    return cache_.serve(make_request(bytes, stream, stack));
  };
  // Finished uses make blocks free; if another thread is at it, a block may be there anyway.
  if (turn_.try_lock()) {
    std::lock_guard<std::recursive_mutex> turn(turn_, std::adopt_lock);
    uses_.complete();
  }
  if (Block* block = try_cache()) return block;

  Turn turn(*this);
  uses_.complete();
  if (Block* block = try_cache()) return block;  // another thread grew while we waited
  MemoryRequest request;
  {
    SpinGuard guard(lock_);
    request = make_request(bytes, stream, stack);
  }
  if (settings_.reject_above_limit && limit_.refuses(fixed_.bytes_for(request))) {
    {
      SpinGuard guard(lock_);
      ledger().count(&AllocatorStats::num_oom_rejections);
    }
    throw_out_of_memory(request,
                        join_text("refused before asking (throw_on_", identity_.malloc_name, "_oom)"));
  }
  collect_garbage_in_turn();
  std::string refusal;
  Block* segment = grow(request, false, refusal);
  if (!segment && release([&] { return oversize_blocks(request); })) segment = grow(request, false, refusal);
  if (!segment && !uses_.capturing()) {
    uses_.synchronize();
    // What other streams have just given back may fit: look before the cache is thrown away.
    if (Block* block = try_cache()) return block;
    release([&] { return pools_.releasable_blocks(); });
    segment = grow(request, true, refusal);
  }
  {
    SpinGuard guard(lock_);
    if (!segment) segment = pools_.borrow(request);
    if (segment) return cache_.hand_out(segment, request);
  }
  throw_out_of_memory(request, refusal);
}

Block* CachingAllocator::grow(const MemoryRequest& request, bool retry, std::string& refusal) {
  const PoolOptions& pool = request.pool->options;
  const bool in_place = settings_.expandable_segments && !pool.source && !pool.no_split && !pool.direct;
  Block* block = in_place ? growing_.grow(request, refusal) : fixed_.grow(request, refusal);
  SpinGuard guard(lock_);
  if (retry) ledger().count(&AllocatorStats::num_alloc_retries);
  if (!block) ledger().count(&AllocatorStats::num_ooms);
  return block;
}

void CachingAllocator::adopt(Address address, size_t bytes, StreamHandle stream, bool small) {
  Turn turn(*this);
  SpinGuard guard(lock_);
  MT_CHECK_AS(value, address != 0 && bytes != 0, "adopt: expected an address and a size, got address ",
              address, " and ", bytes, " bytes.");
  MT_CHECK(!fixed_.contains(address), "adopt: the memory at address ", address, " is held already.");
  MemoryPool* pool = pools_.of_this_thread();
  if (pool->options.direct) pool = &pools_.default_pool();
  cache_.keep(fixed_.add(address, bytes, {bytes, bytes, stream, small, 0, pool}));
}

}  // namespace mt::runtime
