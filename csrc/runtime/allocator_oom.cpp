// CachingAllocator: an allocation that cannot be had. Who keeps the memory, and telling it.
#include <algorithm>
#include <exception>

#include "base/error.h"
#include "runtime/caching_allocator.h"
#include "runtime/oom_report.h"

namespace mt::runtime {
namespace {

constexpr size_t kMostStacks = 3;  // of pins, in the message

void describe_free_memory(const MemoryRequest& request, const PoolSet& pools, OomFacts& facts) {
  for (bool small : {false, true}) {
    size_t& largest = small ? facts.largest_free_small : facts.largest_free_large;
    request.pool->tree(small).for_each([&](const Block* block) {
      largest = std::max(largest, block->size);
      if (small == request.small && block->stream != request.stream)
        facts.largest_free_other_stream = std::max(facts.largest_free_other_stream, block->size);
    });
  }
  pools.for_each_private([&](MemoryPool& pool) {
    for (bool small : {false, true})
      if (&pool != request.pool)
        pool.tree(small).for_each([&](const Block* block) { facts.free_in_private_pools += block->size; });
  });
}

// Free bytes that cannot go back because live blocks share their segment. Returns the live blocks of the segment
// that would serve the request best.
std::vector<const Block*> describe_stranded_memory(const FixedSegments& segments,
                                                   const AllocatorSettings& settings, OomFacts& facts) {
  std::vector<const Block*> pins;
  size_t most_free = 0;
  segments.for_each([&](const Block* first) {
    if (!first->next) return;
    size_t bytes = 0, free = 0;
    std::vector<const Block*> live;
    for (const Block* block = first; block; block = block->next) {
      bytes += block->size;
      if (block->is_free()) free += block->size;
      else live.push_back(block);
      const size_t granule = settings.granule(block->small);
      if (block->is_free()) facts.stranded_granules += block->size / granule * granule;
    }
    if (!free) return;
    ++facts.stranded_segments;
    facts.largest_stranded_segment = std::max(facts.largest_stranded_segment, bytes);
    if (free > most_free) most_free = free, pins = std::move(live);
  });
  facts.most_stranded_in_a_segment = most_free;
  facts.pins = pins.size();
  for (const Block* block : pins) facts.pinned_by += block->size;
  return pins;
}

// Where the largest of the blocks were allocated.
std::vector<uint64_t> stacks_of(std::vector<const Block*> blocks) {
  std::sort(blocks.begin(), blocks.end(), [](const Block* a, const Block* b) { return a->size > b->size; });
  std::vector<uint64_t> stacks;
  for (const Block* block : blocks)
    if (block->stack && stacks.size() < kMostStacks &&
        std::find(stacks.begin(), stacks.end(), block->stack) == stacks.end())
      stacks.push_back(block->stack);
  return stacks;
}

}  // namespace

void CachingAllocator::throw_out_of_memory(const MemoryRequest& request, const std::string& refusal) {
  OomFacts facts;
  facts.device_name = identity_.device_name;
  facts.device_index = identity_.device_index;
  facts.conf_variable = identity_.conf_variable;
  facts.requested = request.requested;
  facts.rounded = request.size;
  facts.segment = fixed_.bytes_for(request);
  facts.driver_error = refusal;
  facts.limit = limit_.bytes();
  try {
    facts.device = upstream_->memory_info();
    facts.device_known = true;
  } catch (const std::exception& failure) {
    facts.driver_error += join_text(facts.driver_error.empty() ? "" : "; ", failure.what());
  }
  std::vector<uint64_t> stacks;
  {
    SpinGuard guard(lock_);
    facts.allocated = ledger().allocated();
    facts.reserved = ledger().reserved();
    facts.stranded = size_t(ledger().stats().inactive_split_bytes.all.current);
    facts.max_split_is_set = settings_.max_split_size != kUnlimited;
    facts.expandable = settings_.expandable_segments;
    facts.event_error = uses_.error();
    describe_free_memory(request, pools_, facts);
    stacks = stacks_of(describe_stranded_memory(fixed_, settings_, facts));
    uses_.for_each([&](const PendingUse& use) { facts.pending[use.stream] += use.block->size; });
    ledger().out_of_memory(request, facts.device.free);
  }
  facts.can_expand = upstream_->has_virtual_memory();
  facts.pinned_at = watchers_.describe(stacks);
  watchers_.tell(
      {0, int64_t(request.size), int64_t(facts.allocated), int64_t(facts.reserved), request.stream});
  watchers_.tell_out_of_memory(request.size, facts.device.total, facts.device.free);
  throw Error(ErrorKind::out_of_memory, oom_message(facts));
}

}  // namespace mt::runtime
