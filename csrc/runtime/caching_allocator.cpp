#include "runtime/caching_allocator.h"

#include <algorithm>
#include <exception>

#include "base/error.h"

namespace mt::runtime {
namespace {

constexpr size_t kLargestRequest = size_t(1) << 60;

bool should_split(const AllocatorSettings& settings, const Block* block, size_t size) {
  const size_t rest = block->size - size;
  if (block->pool->options.no_split) return false;
  if (block->small || block->range) return rest >= kMinBlockSize;
  return size < settings.max_split_size && rest > kSmallSize;
}

}  // namespace

CachingAllocator::CachingAllocator(std::shared_ptr<Upstream> upstream, AllocatorIdentity identity,
                                   AllocatorSettings settings)
    : upstream_(std::move(upstream)), identity_(std::move(identity)) {
  direct_pool_.options.direct = true;
  set_settings(settings);
}

CachingAllocator::~CachingAllocator() {
  pending_.for_each([this](const PendingUse& use) {
    if (use.event) upstream_->release_event(use.event);
  });
}

// --- the hot path ------------------------------------------------------------------------------------------

CachingAllocator::Request CachingAllocator::make_request(size_t bytes, StreamHandle stream, uint64_t stack) {
  const size_t size = settings_.block_size(bytes);
  return {bytes, size, stream, size <= kSmallSize, stack, pool_of_this_thread()};
}

Block* CachingAllocator::allocate(size_t bytes, StreamHandle stream) {
  if (bytes - 1 >= kLargestRequest) [[unlikely]] {  // also 0, which wraps around
    if (bytes == 0) return nullptr;
    fail(ErrorKind::out_of_memory, identity_.device_name,
         " out of memory. Tried to allocate more than 1 EiB (", bytes,
         " bytes). Sizes this large come from an overflowing or negative size computation.");
  }
  const bool observed = observed_.load(std::memory_order_relaxed);
  const uint64_t stack = observed ? current_stack() : 0;
  Block* block = nullptr;
  {
    Guard guard(lock_);
    if (pending_.empty() || (settings_.lazy_reclaim && pending_.count() <= kMostLazyUses)) [[likely]] {
      const Request request = make_request(bytes, stream, stack);
      block = take_cached(request);
      if (block) block = hand_out(block, request);
    }
  }
  if (!block) [[unlikely]]
    block = allocate_slowly(bytes, stream, stack);
  if (observed) [[unlikely]] {
    const AllocatorStats now = stats();
    tell_watchers({block->ptr, int64_t(block->size), now.allocated_bytes.all.current,
                   now.reserved_bytes.all.current, stream});
    if (const MemoryMarks marks = memory_marks(); marks.used) marks.used(block->address(), bytes);
  }
  return block;
}

Block* CachingAllocator::take_cached(const Request& request) {
  ++tick_;
  FreeTree& free_blocks = request.pool->tree(request.small);
  Block* block = free_blocks.best_fit(request.stream, request.size);
  if (!block) return nullptr;
  if (block->range) {
    // The growing end is for what fits nowhere else.
    if (block->can_grow())
      if (Block* other = free_blocks.best_fit(request.stream, block->size, block->ptr + 1)) block = other;
  } else if (!request.small) {
    // A block of max_split_size or more is kept for requests that need most of it.
    if (request.size < settings_.max_split_size) {
      if (block->size >= settings_.max_split_size) return nullptr;
    } else if (block->size - request.size >= settings_.max_non_split_rounding) {
      return nullptr;
    }
  }
  free_blocks.erase(block);
  return block;
}

Block* CachingAllocator::hand_out(Block* block, const Request& request) {
  const bool small = request.small;
  const bool was_split = block->is_split();
  if (should_split(settings_, block, request.size)) {
    Block* rest = split_block(store_, block, request.size);
    rest->cached_since = tick_;
    tree(rest).insert(rest);
    if (block->range) {
      // Free pieces of a growing segment can be unmapped: they do not count as stuck.
    } else if (was_split) {  // a free piece shrinks
      stats_.inactive_split_bytes.decrease(small, int64_t(block->size));
    } else {  // a whole segment becomes a live piece and a free one
      stats_.inactive_split.increase(small, 1);
      stats_.inactive_split_bytes.increase(small, int64_t(rest->size));
    }
  } else if (was_split && !block->range) {  // a free piece becomes live
    stats_.inactive_split.decrease(small, 1);
    stats_.inactive_split_bytes.decrease(small, int64_t(block->size));
  }
  block->allocated = true;
  block->requested = request.requested;
  block->stack = request.stack;
  const int64_t size = int64_t(block->size);
  stats_.allocation.increase(small, 1);
  stats_.allocated_bytes.increase(small, size);
  stats_.active.increase(small, 1);
  stats_.active_bytes.increase(small, size);
  stats_.requested_bytes.increase(small, int64_t(request.requested));
  if (block->size >= settings_.max_split_size) stats_.oversize_allocations.increase(1);
  trace(TraceAction::alloc, block->ptr, request.requested, block->stream, request.stack, block->pool);
  return block;
}

void CachingAllocator::free(Block* block) {
  if (!block) return;
  const bool observed = observed_.load(std::memory_order_relaxed);
  const uint64_t stack = observed ? current_stack() : 0;
  if (observed) [[unlikely]] {
    // While the block is still the caller's: a moment later another thread may have it.
    if (const MemoryMarks marks = memory_marks(); marks.free) marks.free(block->address(), block->requested);
  }
  MemoryEvent event{};
  bool wait = false, direct = false;
  {
    Guard guard(lock_);
    MT_CHECK(block->allocated, "The block at ", block->address(), " is freed twice.");
    block->allocated = false;
    block->last_used = tick_;
    stats_.allocation.decrease(block->small, 1);
    stats_.allocated_bytes.decrease(block->small, int64_t(block->size));
    if (block->size >= settings_.max_split_size) stats_.oversize_allocations.decrease(1);
    trace(TraceAction::free_requested, block->ptr, block->requested, block->stream, stack, block->pool);
    if (observed) [[unlikely]]
      event = {block->ptr, -int64_t(block->size), stats_.allocated_bytes.all.current,
               stats_.reserved_bytes.all.current, block->stream};
    wait = !block->used_by.empty();
    direct = block->pool->options.direct;
    if (wait) block->pending_events = uint32_t(block->used_by.size());
    else cache_block(block, stack);
  }
  if (wait) [[unlikely]]
    wait_for_other_streams(block);
  if (direct) [[unlikely]]
    release_directly();
  if (observed) [[unlikely]]
    tell_watchers(event);
}

void CachingAllocator::cache_block(Block* block, uint64_t stack) {
  const bool small = block->small;
  FreeTree& free_blocks = tree(block);
  trace(TraceAction::free_completed, block->ptr, block->requested, block->stream, stack, block->pool);
  stats_.active.decrease(small, 1);
  stats_.active_bytes.decrease(small, int64_t(block->size));
  stats_.requested_bytes.decrease(small, int64_t(block->requested));
  block->requested = 0;
  block->stack = 0;

  int64_t pieces = 0, bytes = 0;  // how the free pieces of split segments change
  if (Block* next = block->next; next && next->is_free()) {
    free_blocks.erase(next);
    --pieces, bytes -= int64_t(next->size);
    merge_blocks(store_, block, next);
  }
  if (Block* previous = block->previous; previous && previous->is_free()) {
    free_blocks.erase(previous);
    --pieces, bytes -= int64_t(previous->size);
    merge_blocks(store_, previous, block);
    block = previous;
  }
  block->cached_since = tick_;
  free_blocks.insert(block);
  if (block->range) return;  // its free pieces can be unmapped: they do not count as stuck
  if (block->is_split()) ++pieces, bytes += int64_t(block->size);
  if (pieces) stats_.inactive_split.change(small, pieces);
  if (bytes) stats_.inactive_split_bytes.change(small, bytes);
}

// --- other streams -----------------------------------------------------------------------------------------

void CachingAllocator::record_stream(Block* block, StreamHandle stream) {
  if (!block || block->stream == stream) return;
  Guard guard(lock_);
  MT_CHECK(block->allocated, "record_stream: the block at ", block->address(), " has been freed.");
  if (std::find(block->used_by.begin(), block->used_by.end(), stream) == block->used_by.end())
    block->used_by.push_back(stream);
}

void CachingAllocator::wait_for_other_streams(Block* block) {
  // The block is neither allocated nor free until its last event completes, so its list is ours alone.
  std::vector<StreamHandle> streams;
  streams.swap(block->used_by);
  for (StreamHandle stream : streams) {
    EventHandle event = 0;
    std::string error;
    try {
      event = upstream_->record_event(stream);
    } catch (const std::exception& failure) {
      // free() runs in destructors. Without an event the block waits for the next device synchronisation, and
      // an out-of-memory error tells why.
      error = failure.what();
    }
    Guard guard(lock_);
    if (!event) event_error_ = error;
    pending_.add({event, block, stream});
  }
}

void CachingAllocator::finish_use(Block* block) {
  if (--block->pending_events == 0) cache_block(block, 0);
}

void CachingAllocator::complete_pending_uses() {
  if (completing_) return;  // upstream re-entered us; the outer call goes on
  completing_ = true;
  struct Reset {
    bool& flag;
    ~Reset() { flag = false; }
  } reset{completing_};
  std::vector<StreamHandle> streams;
  {
    Guard guard(lock_);
    streams = pending_.streams();
  }
  for (StreamHandle stream : streams) {
    while (true) {
      EventHandle event;
      {
        Guard guard(lock_);
        event = pending_.oldest_event(stream);
      }
      if (!event || !upstream_->event_is_complete(event)) break;
      {
        Guard guard(lock_);
        // A synchronisation inside event_is_complete may have completed it already.
        if (pending_.oldest_event(stream) != event) break;
        finish_use(pending_.remove_oldest(stream));
      }
      upstream_->release_event(event);
    }
  }
}

void CachingAllocator::synchronize_and_complete() {
  std::vector<PendingUse> uses;
  uint64_t now;
  {
    Guard guard(lock_);
    ++stats_.num_sync_all_streams;
    uses = pending_.take_all();
    now = tick_++;  // what is freed from here on may be used by work enqueued after the synchronisation
  }
  try {
    upstream_->synchronize();
  } catch (...) {
    Guard guard(lock_);
    pending_.put_back(uses);
    throw;
  }
  {
    Guard guard(lock_);
    synchronized_ = std::max(synchronized_, now);
    event_error_.clear();
    for (const PendingUse& use : uses) finish_use(use.block);
  }
  for (const PendingUse& use : uses)
    if (use.event) upstream_->release_event(use.event);
}

// --- growing -----------------------------------------------------------------------------------------------

Block* CachingAllocator::allocate_slowly(size_t bytes, StreamHandle stream, uint64_t stack) {
  const auto try_cache = [&]() -> Block* {
    Guard guard(lock_);
    const Request request = make_request(bytes, stream, stack);
    Block* block = take_cached(request);
    return block ? hand_out(block, request) : nullptr;
  };
  // Finished uses make blocks free; if another thread is at it, a block may be there anyway.
  if (turn_.try_lock()) {
    std::lock_guard<std::recursive_mutex> turn(turn_, std::adopt_lock);
    complete_pending_uses();
  }
  if (Block* block = try_cache()) return block;

  Turn turn(*this);
  complete_pending_uses();
  if (Block* block = try_cache()) return block;  // another thread grew while we waited
  Request request;
  {
    Guard guard(lock_);
    request = make_request(bytes, stream, stack);
  }
  std::string refusal;
  if (settings_.reject_above_limit) {
    const size_t segment = segment_bytes(request);
    if (size_t(stats().reserved_bytes.all.current) + segment > memory_limit()) {
      {
        Guard guard(lock_);
        ++stats_.num_oom_rejections;
      }
      throw_out_of_memory(request, segment, "refused before asking (throw_on_npumalloc_oom)");
    }
  }
  collect_garbage_in_turn();
  Block* segment = grow(request, false, refusal);
  if (!segment && release([&] { return oversize_blocks(request); })) segment = grow(request, false, refusal);
  if (!segment) {
    synchronize_and_complete();
    // What other streams have just given back may fit: look before the cache is thrown away.
    if (Block* block = try_cache()) return block;
    release([&] { return whole_segments(); });
    segment = grow(request, true, refusal);
  }
  if (!segment) segment = last_resort(request);
  if (!segment) throw_out_of_memory(request, segment_bytes(request), refusal);
  Guard guard(lock_);
  return hand_out(segment, request);
}

Block* CachingAllocator::grow(const Request& request, bool retry, std::string& refusal) {
  const PoolOptions& pool = request.pool->options;
  if (settings_.expandable_segments && !pool.source && !pool.no_split && !pool.direct) {
    Block* block = expand(request, refusal);
    Guard guard(lock_);
    stats_.num_alloc_retries += retry;
    stats_.num_ooms += !block;
    return block;
  }
  const size_t bytes = segment_bytes(request);
  const size_t limit = memory_limit();
  const size_t reserved = size_t(stats().reserved_bytes.all.current);
  RawMemory raw;
  if (limit != kUnlimited && reserved + bytes > limit) raw.error = "the limit of this process is reached";
  else raw = pool.source ? pool.source->allocate(bytes, request.stream) : upstream_->allocate(bytes);
  Guard guard(lock_);
  if (retry) ++stats_.num_alloc_retries;
  if (!raw.address) {
    ++stats_.num_ooms;
    refusal = raw.error;
    return nullptr;
  }
  ++stats_.num_device_alloc;
  return add_segment(raw.address, std::max(raw.size, bytes), request);
}

Block* CachingAllocator::add_segment(Address address, size_t bytes, const Request& request) {
  MemoryPool* pool = request.pool;
  const bool small = request.small;
  Block* block = store_.make(address, bytes, request.stream, small, pool);
  segments_[address] = block;
  ++pool->segments;
  pool->reserved.increase(small, int64_t(bytes));
  stats_.segment.increase(small, 1);
  stats_.reserved_bytes.increase(small, int64_t(bytes));
  if (bytes >= settings_.max_split_size) stats_.oversize_segments.increase(1);
  trace(TraceAction::segment_alloc, address, bytes, request.stream, request.stack, pool);
  return block;
}

void CachingAllocator::adopt(Address address, size_t bytes, StreamHandle stream, bool small) {
  Turn turn(*this);
  Guard guard(lock_);
  MT_CHECK_AS(value, address != 0 && bytes != 0, "adopt: expected an address and a size, got address ",
              address, " and ", bytes, " bytes.");
  MT_CHECK(!segments_.count(address), "adopt: the memory at address ", address, " is held already.");
  Block* block = add_segment(address, bytes, {bytes, bytes, stream, small, 0, &default_pool_});
  block->cached_since = tick_;
  tree(block).insert(block);
}

}  // namespace mt::runtime
