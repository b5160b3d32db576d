// CachingAllocator: what is set and asked from outside. The parts answer; the locks are taken here.
#include <algorithm>

#include "base/error.h"
#include "runtime/caching_allocator.h"
#include "runtime/oom_report.h"

namespace mt::runtime {

// --- settings and limits -----------------------------------------------------------------------------------

void CachingAllocator::set_settings(const AllocatorSettings& settings) {
  Turn turn(*this);
  SpinGuard guard(lock_);
  settings_ = settings;
  ledger().set_oversize(settings.max_split_size);
}

AllocatorSettings CachingAllocator::settings() {
  SpinGuard guard(lock_);
  return settings_;
}

void CachingAllocator::set_memory_fraction(double fraction) {
  MT_CHECK_AS(value, fraction >= 0 && fraction <= 1, "The memory fraction must be from 0 to 1, but it is ",
              fraction, ".");
  SpinGuard guard(lock_);
  settings_.memory_fraction = fraction;
}

void CachingAllocator::set_memory_limit(size_t bytes) { limit_.set(bytes); }

size_t CachingAllocator::memory_limit() { return limit_.bytes(); }

void CachingAllocator::check_limit(size_t bytes) {
  const size_t limit = limit_.bytes();
  const size_t reserved = size_t(stats().reserved_bytes.all.current);
  if (limit == kUnlimited || reserved + bytes <= limit) return;
  fail(ErrorKind::out_of_memory, identity_.device_name, " out of memory. Tried to allocate ",
       format_size(bytes), ". This process has ", format_size(reserved), " reserved on ",
       identity_.device_name, " ", identity_.device_index, " and may hold ", format_size(limit),
       ". Free memory, or raise the limit with set_per_process_memory_fraction.");
}

// --- pools -------------------------------------------------------------------------------------------------

void CachingAllocator::begin_pool(int64_t id, const PoolOptions& options) {
  SpinGuard guard(lock_);
  pools_.begin(id, options);
}

void CachingAllocator::end_pool(int64_t id, std::thread::id thread) {
  SpinGuard guard(lock_);
  pools_.end(id, thread);
}

void CachingAllocator::retain_pool(int64_t id, const PoolOptions& options) {
  SpinGuard guard(lock_);
  pools_.retain(id, options);
}

void CachingAllocator::release_pool(int64_t id) {
  SpinGuard guard(lock_);
  // A graph used its blocks long after they were given back: whoever returns them to the device waits for it first.
  if (MemoryPool* pool = pools_.find(id))
    for (bool small : {false, true})
      pool->tree(small).for_each([this](Block* block) { block->last_used = cache_.now(); });
  pools_.release(id);
}

int CachingAllocator::pool_users(int64_t id) {
  SpinGuard guard(lock_);
  return pools_.users(id);
}

std::map<int64_t, PoolStat> CachingAllocator::reserved_by_pools() {
  SpinGuard guard(lock_);
  return pools_.reserved();
}

void CachingAllocator::set_caching(bool on, std::shared_ptr<RawSource> source) {
  Turn turn(*this);
  SpinGuard guard(lock_);
  MT_CHECK(!source || fixed_.empty(), "The allocator of ", identity_.device_name, " ", identity_.device_index,
           " is in use already; another one can only be chosen before the first tensor.");
  pools_.set_caching(on, std::move(source));
}

bool CachingAllocator::caching() {
  SpinGuard guard(lock_);
  return pools_.caching();
}

// --- statistics and snapshots ------------------------------------------------------------------------------

AllocatorStats CachingAllocator::stats() {
  SpinGuard guard(lock_);
  return ledger().stats();
}

void CachingAllocator::set_stat(size_t index, int64_t value) {
  SpinGuard guard(lock_);
  ledger().set_stat(index, value);
}

void CachingAllocator::reset_peak_stats() {
  SpinGuard guard(lock_);
  ledger().reset_peak();
}

void CachingAllocator::reset_accumulated_stats() {
  SpinGuard guard(lock_);
  ledger().reset_accumulated();
}

Snapshot CachingAllocator::snapshot(bool include_trace) {
  Snapshot result;
  SpinGuard guard(lock_);
  const auto add = [&](const Block* first) { add_segment_states(first, result.segments); };
  fixed_.for_each(add);
  growing_.for_each(add);
  std::sort(result.segments.begin(), result.segments.end(),
            [](const SegmentState& a, const SegmentState& b) { return a.address < b.address; });
  ledger().snapshot_taken();
  const TraceLog& history = ledger().history();
  if (include_trace) result.trace = history.in_order();
  result.trace_overflowed = history.overflowed();
  result.trace_max_entries = history.max_entries();
  result.settings = settings_;
  return result;
}

std::vector<BlockState> CachingAllocator::cached_blocks(bool small) {
  std::vector<BlockState> result;
  SpinGuard guard(lock_);
  pools_.default_pool().tree(small).for_each([&](const Block* block) { result.push_back(state_of(block)); });
  return result;
}

// --- history and watchers ----------------------------------------------------------------------------------

void CachingAllocator::record_history(size_t max_entries, bool clear, uint32_t skipped) {
  SpinGuard guard(lock_);
  ledger().record_history(max_entries, clear, skipped);
  watchers_.set_recording(ledger().history().enabled());
}

void CachingAllocator::set_stack_recorder(RecordStack record_stack, DescribeStack describe_stack) {
  Turn turn(*this);
  watchers_.set_stack_recorder(std::move(record_stack), std::move(describe_stack));
}

void CachingAllocator::set_out_of_memory_observer(OutOfMemoryObserver observer) {
  Turn turn(*this);
  watchers_.set_out_of_memory_observer(std::move(observer));
}

void CachingAllocator::set_memory_observer(MemoryObserver observer) {
  Turn turn(*this);
  watchers_.set_memory_observer(std::move(observer));
}

void CachingAllocator::set_memory_marks(MemoryMarks marks) {
  Turn turn(*this);
  watchers_.set_marks(marks);
}

}  // namespace mt::runtime
