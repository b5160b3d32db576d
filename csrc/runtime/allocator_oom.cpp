// CachingAllocator: an allocation that cannot be had. Who keeps the memory, and telling it.
#include <algorithm>
#include <exception>

#include "base/error.h"
#include "runtime/caching_allocator.h"
#include "runtime/oom_report.h"

namespace mt::runtime {

void CachingAllocator::describe_free_memory(const Request& request, OomFacts& facts) {
  for (bool small : {false, true}) {
    size_t& largest = small ? facts.largest_free_small : facts.largest_free_large;
    request.pool->tree(small).for_each([&](const Block* block) {
      largest = std::max(largest, block->size);
      if (small == request.small && block->stream != request.stream)
        facts.largest_free_other_stream = std::max(facts.largest_free_other_stream, block->size);
    });
  }
  for (const auto& [id, pool] : pools_)
    for (bool small : {false, true})
      if (pool.get() != request.pool)
        pool->tree(small).for_each([&](const Block* block) { facts.free_in_private_pools += block->size; });
}

// Free bytes that cannot go back because live blocks share their segment, and the blocks of the segment that
// would serve the request best.
void CachingAllocator::describe_stranded_memory(OomFacts& facts, std::vector<const Block*>& pins) {
  facts.stranded = size_t(stats_.inactive_split_bytes.all.current);
  size_t most_free = 0;
  for (const auto& [address, first] : segments_) {
    if (!first->next) continue;
    size_t bytes = 0, free = 0;
    std::vector<const Block*> live;
    for (const Block* block = first; block; block = block->next) {
      bytes += block->size;
      if (block->is_free()) free += block->size;
      else live.push_back(block);
      const size_t granule = block->small ? kSmallSegment : settings_.large_segment_size;
      if (block->is_free()) facts.stranded_granules += block->size / granule * granule;
    }
    if (!free) continue;
    ++facts.stranded_segments;
    facts.largest_stranded_segment = std::max(facts.largest_stranded_segment, bytes);
    if (free > most_free) most_free = free, pins = std::move(live);
  }
  facts.most_stranded_in_a_segment = most_free;
  facts.pins = pins.size();
  for (const Block* block : pins) facts.pinned_by += block->size;
}

void CachingAllocator::throw_out_of_memory(const Request& request, size_t segment,
                                           const std::string& refusal) {
  OomFacts facts;
  facts.device_name = identity_.device_name;
  facts.device_index = identity_.device_index;
  facts.conf_variable = identity_.conf_variable;
  facts.requested = request.requested;
  facts.rounded = request.size;
  facts.segment = segment;
  facts.driver_error = refusal;
  facts.limit = memory_limit();
  try {
    facts.device = upstream_->memory_info();
    facts.device_known = true;
  } catch (const std::exception& failure) {
    facts.driver_error += join_text(facts.driver_error.empty() ? "" : "; ", failure.what());
  }
  const auto watchers = watchers_.load();
  std::vector<uint64_t> stacks;
  {
    Guard guard(lock_);
    facts.allocated = size_t(stats_.allocated_bytes.all.current);
    facts.reserved = size_t(stats_.reserved_bytes.all.current);
    facts.max_split_is_set = settings_.max_split_size != kUnlimited;
    facts.expandable = settings_.expandable_segments;
    facts.event_error = event_error_;
    describe_free_memory(request, facts);
    std::vector<const Block*> pins;
    describe_stranded_memory(facts, pins);
    std::sort(pins.begin(), pins.end(), [](const Block* a, const Block* b) { return a->size > b->size; });
    for (const Block* block : pins)
      if (block->stack && std::find(stacks.begin(), stacks.end(), block->stack) == stacks.end())
        stacks.push_back(block->stack);
    pending_.for_each([&](const PendingUse& use) { facts.pending[use.stream] += use.block->size; });
    trace(TraceAction::oom, facts.device.free, request.size, request.stream, request.stack, request.pool);
  }
  facts.can_expand = upstream_->has_virtual_memory();
  if (watchers && watchers->describe_stack)
    for (size_t i = 0; i < std::min<size_t>(stacks.size(), 3); ++i)
      facts.pinned_at.push_back(watchers->describe_stack(stacks[i]));
  if (watchers && watchers->memory_event)
    watchers->memory_event(
        {0, int64_t(request.size), int64_t(facts.allocated), int64_t(facts.reserved), request.stream});
  if (watchers && watchers->out_of_memory)
    watchers->out_of_memory(request.size, facts.device.total, facts.device.free);
  throw Error(ErrorKind::out_of_memory, oom_message(facts));
}

}  // namespace mt::runtime
