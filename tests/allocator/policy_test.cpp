// The policy, one sentence at a time.
#include <memory>
#include <string>

#include "runtime/caching_allocator.h"
#include "runtime/oom_report.h"
#include "testing.h"
#include "upstream_double.h"

using namespace mt::runtime;
using testing::error_of;

namespace {

struct Fixture {
  explicit Fixture(size_t bytes = size_t(1) << 30, AllocatorSettings settings = {})
      : device(std::make_shared<UpstreamDouble>(bytes)), allocator(device, kIdentity, settings) {}
  int64_t stat(const char* name) { return allocator.stats().values()[allocator_stat_index(name)]; }

  std::shared_ptr<UpstreamDouble> device;
  CachingAllocator allocator;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST("sizes are rounded to 512 bytes and segments to 2 MiB, 20 MiB or the request") {
  const AllocatorSettings settings;
  CHECK_EQUAL(settings.block_size(1), size_t(512));
  CHECK_EQUAL(settings.block_size(512), size_t(512));
  CHECK_EQUAL(settings.block_size(513), size_t(1024));
  CHECK_EQUAL(settings.segment_size(512), 2 * kMiB);
  CHECK_EQUAL(settings.segment_size(kMiB), 2 * kMiB);
  CHECK_EQUAL(settings.segment_size(kMiB + 512), 20 * kMiB);
  CHECK_EQUAL(settings.segment_size(10 * kMiB - 512), 20 * kMiB);
  CHECK_EQUAL(settings.segment_size(10 * kMiB), 10 * kMiB);
  CHECK_EQUAL(settings.segment_size(10 * kMiB + 512), 12 * kMiB);
}

TEST("divisions round a size up to an equal part of its power of two") {
  AllocatorSettings settings;
  settings.roundup_divisions.fill(4);
  CHECK_EQUAL(settings.block_size(1200 * 1024), 1280 * size_t(1024));
  CHECK_EQUAL(settings.block_size(4 * kMiB), 4 * kMiB);
  CHECK_EQUAL(settings.block_size(4 * kMiB + 1), 5 * kMiB);
  CHECK_EQUAL(settings.block_size(1500), size_t(1536));  // too small for divisions
}

TEST("with a small max_split_size, shared segments stay below it so that they can be reused") {
  AllocatorSettings settings;
  settings.max_split_size = 8 * kMiB;
  Fixture f(size_t(1) << 30, settings);
  Block* first = f.allocator.allocate(2 * kMiB, 0);
  Block* second = f.allocator.allocate(2 * kMiB, 0);
  CHECK_EQUAL(f.device->calls.allocate, 1);
  f.allocator.free(first);
  f.allocator.free(second);
}

TEST("a cache hit makes no upstream call") {
  Fixture f;
  f.allocator.free(f.allocator.allocate(1000, 0));
  const auto before = f.device->calls;
  for (int i = 0; i < 100; ++i) f.allocator.free(f.allocator.allocate(1000, 0));
  CHECK_EQUAL(f.device->calls.allocate, before.allocate);
  CHECK_EQUAL(f.device->calls.memory_info, before.memory_info);
  CHECK_EQUAL(f.device->calls.record_event, before.record_event);
  CHECK_EQUAL(f.device->calls.event_is_complete, before.event_is_complete);
  CHECK_EQUAL(f.device->calls.synchronize, before.synchronize);
}

TEST("a block is reused by its own stream only") {
  Fixture f;
  Block* block = f.allocator.allocate(1000, 1);
  const Address address = block->ptr;
  f.allocator.free(block);
  Block* other = f.allocator.allocate(1000, 2);
  CHECK(other->ptr != address);
  CHECK_EQUAL(f.allocator.allocate(1000, 1)->ptr, address);
}

TEST("no bytes give no block, and freeing no block is nothing") {
  Fixture f;
  CHECK(f.allocator.allocate(0, 0) == nullptr);
  f.allocator.free(nullptr);
  CHECK_EQUAL(f.device->calls.allocate, 0);
}

TEST("freeing a block twice is an error and changes nothing") {
  Fixture f;
  Block* block = f.allocator.allocate(1000, 0);
  f.allocator.free(block);
  CHECK(contains(error_of([&] { f.allocator.free(block); }), "freed twice"));
  CHECK_EQUAL(f.stat("allocation.all.current"), int64_t(0));
}

TEST("a recorded stream delays reuse until it has passed the free") {
  Fixture f;
  Block* block = f.allocator.allocate(3 * kMiB, 0);
  const Address address = block->ptr;
  f.allocator.record_stream(block, 7);
  f.allocator.record_stream(block, 7);
  f.allocator.record_stream(block, 0);  // its own stream costs nothing
  f.allocator.free(block);
  CHECK_EQUAL(f.device->calls.record_event, 1);
  CHECK_EQUAL(f.stat("active_bytes.all.current"), int64_t(3 * kMiB));
  CHECK_EQUAL(f.stat("allocated_bytes.all.current"), int64_t(0));
  CHECK_EQUAL(std::string(f.allocator.snapshot(false).segments[0].blocks[0].state),
              std::string("active_pending_free"));
  Block* second = f.allocator.allocate(3 * kMiB, 0);
  CHECK(second->ptr != address);
  f.device->finish(7);
  CHECK_EQUAL(f.allocator.allocate(3 * kMiB, 0)->ptr, address);
  CHECK_EQUAL(f.device->live_events(), size_t(0));
}

TEST("a block whose event cannot be recorded waits for the next synchronisation") {
  Fixture f;
  Block* block = f.allocator.allocate(3 * kMiB, 0);
  f.allocator.record_stream(block, 7);
  f.device->fail_events = true;
  f.allocator.free(block);
  CHECK_EQUAL(f.stat("active.all.current"), int64_t(1));
  f.allocator.empty_cache();
  CHECK_EQUAL(f.device->calls.synchronize, 1);
  CHECK_EQUAL(f.device->used(), size_t(0));
}

TEST("a segment that queued work may still use is released only after a synchronisation") {
  Fixture f;
  f.allocator.free(f.allocator.allocate(kMiB, 0));
  f.allocator.empty_cache();
  CHECK_EQUAL(f.device->calls.synchronize, 1);
  CHECK_EQUAL(f.device->calls.free, 1);
  f.allocator.empty_cache();  // nothing cached, nothing to wait for
  CHECK_EQUAL(f.device->calls.synchronize, 1);
}

TEST("a device of 64 MiB runs out, says why, and recovers") {
  Fixture f(64 * kMiB);
  Block* a = f.allocator.allocate(20 * kMiB, 0);
  Block* b = f.allocator.allocate(20 * kMiB, 0);
  Block* c = f.allocator.allocate(20 * kMiB, 0);
  const std::string message = error_of([&] { f.allocator.allocate(20 * kMiB, 0); });
  CHECK(message.starts_with("Double out of memory. Tried to allocate 20.00 MiB."));
  CHECK(contains(message, "total capacity of 64.00 MiB of which 4.00 MiB is free"));
  CHECK(contains(message, "60.00 MiB allocated and 60.00 MiB reserved"));
  CHECK(contains(message, "make the batch smaller"));
  CHECK(!contains(message, "max_split_size_mb"));  // nothing is fragmented
  CHECK_EQUAL(f.stat("num_ooms"), int64_t(2));
  CHECK_EQUAL(f.stat("num_alloc_retries"), int64_t(1));
  f.allocator.free(b);
  Block* again = f.allocator.allocate(18 * kMiB, 0);
  CHECK(again != nullptr);
  for (Block* block : {a, c, again}) f.allocator.free(block);
  f.allocator.free(f.allocator.allocate(60 * kMiB, 0));  // needs the cached segments of 20 MiB released
  CHECK_EQUAL(f.stat("reserved_bytes.all.current"), int64_t(60 * kMiB));
}

TEST("memory that another stream has given back is found before the error") {
  Fixture f(32 * kMiB);
  Block* block = f.allocator.allocate(20 * kMiB, 0);
  f.allocator.record_stream(block, 5);
  f.allocator.free(block);
  Block* again = f.allocator.allocate(20 * kMiB, 0);  // the stream is still busy, so the device is waited for
  CHECK_EQUAL(f.device->calls.synchronize, 1);
  CHECK_EQUAL(f.stat("num_device_free"), int64_t(0));
  f.allocator.free(again);
}

TEST("fragmentation is named, with advice that is legal") {
  Fixture f(128 * kMiB);
  Block* whole = f.allocator.allocate(120 * kMiB, 0);
  f.allocator.free(whole);
  Block* pin = f.allocator.allocate(11 * kMiB, 0);  // splits the segment of 120 MiB
  Block* middle = f.allocator.allocate(40 * kMiB, 0);
  Block* last = f.allocator.allocate(11 * kMiB, 0);
  f.allocator.free(middle);
  const std::string message = error_of([&] { f.allocator.allocate(80 * kMiB, 0); });
  CHECK(contains(message, "stranded in 1 segment"));
  CHECK(contains(message, "DOUBLE_ALLOC_CONF=expandable_segments:True "));
  f.device->virtual_memory = false;  // growing segments are no way out
  const std::string other = error_of([&] { f.allocator.allocate(80 * kMiB, 0); });
  CHECK(contains(other, "DOUBLE_ALLOC_CONF=max_split_size_mb:80 "));
  CHECK(!contains(other, "expandable_segments"));
  f.allocator.free(pin);
  f.allocator.free(last);
}

TEST("advice that would not help is not given") {
  Fixture f(64 * kMiB);
  Block* blocks[6];
  for (Block*& block : blocks) block = f.allocator.allocate(9 * kMiB, 0);
  for (int i = 0; i < 6; i += 2) f.allocator.free(blocks[i]);
  const std::string message = error_of([&] { f.allocator.allocate(30 * kMiB, 0); });
  CHECK(contains(message, "33.00 MiB is free but stranded in 3 segment(s)"));
  CHECK(!contains(message, "max_split_size_mb"));  // no segment is large enough, cut up or not
}

TEST("the memory fraction and the limit in bytes are limits") {
  Fixture f(100 * kMiB);
  f.allocator.set_memory_fraction(0.5);
  Block* block = f.allocator.allocate(40 * kMiB, 0);
  const std::string message = error_of([&] { f.allocator.allocate(20 * kMiB, 0); });
  CHECK(contains(message, "This process may hold 50.00 MiB."));
  CHECK(contains(message, "raise the limit"));
  CHECK(error_of([&] { f.allocator.check_limit(11 * kMiB); }).starts_with("Double out of memory."));
  f.allocator.check_limit(10 * kMiB);
  f.allocator.set_memory_fraction(1.0);
  f.allocator.set_memory_limit(45 * kMiB);
  error_of([&] { f.allocator.allocate(10 * kMiB, 0); });
  f.allocator.set_memory_limit(kUnlimited);
  f.allocator.free(f.allocator.allocate(20 * kMiB, 0));
  f.allocator.free(block);
}

TEST("rejection above the limit asks neither device nor cache") {
  AllocatorSettings settings;
  settings.reject_above_limit = true;
  settings.memory_fraction = 0.25;
  Fixture f(100 * kMiB, settings);
  f.allocator.free(f.allocator.allocate(20 * kMiB, 0));
  error_of([&] { f.allocator.allocate(24 * kMiB, 0); });
  CHECK_EQUAL(f.stat("num_oom_rejections"), int64_t(1));
  CHECK_EQUAL(f.stat("num_alloc_retries"), int64_t(0));
  CHECK_EQUAL(f.device->calls.allocate, 1);
}

TEST("garbage collection frees the longest unused segments first, and only above the threshold") {
  AllocatorSettings settings;
  settings.garbage_collection_threshold = 0.5;
  Fixture f(100 * kMiB, settings);
  Block* old_block = f.allocator.allocate(16 * kMiB, 0);
  Block* young_block = f.allocator.allocate(14 * kMiB, 0);
  Block* live = f.allocator.allocate(16 * kMiB, 0);
  f.allocator.free(old_block);
  for (int i = 0; i < 10; ++i) f.allocator.free(f.allocator.allocate(100, 0));
  f.allocator.free(young_block);
  f.allocator.collect_garbage();
  CHECK_EQUAL(f.stat("num_device_free"), int64_t(0));  // 48 MiB are reserved, 50 are allowed
  Block* more = f.allocator.allocate(18 * kMiB, 0);  // at 48 MiB still below the threshold; then 16 too many
  f.allocator.collect_garbage();
  CHECK_EQUAL(f.stat("num_device_free"), int64_t(1));
  bool young_is_cached = false, old_is_cached = false;
  for (const BlockState& block : f.allocator.cached_blocks(false)) {
    young_is_cached |= block.size == 14 * kMiB;
    old_is_cached |= block.size == 16 * kMiB;
  }
  CHECK(!old_is_cached);
  CHECK(young_is_cached);
  f.allocator.free(live);
  f.allocator.free(more);
}

TEST("blocks of max_split_size and more are kept whole and counted as oversize") {
  AllocatorSettings settings;
  settings.max_split_size = 32 * kMiB;
  Fixture f(size_t(1) << 30, settings);
  Block* big = f.allocator.allocate(40 * kMiB, 0);
  CHECK_EQUAL(f.stat("oversize_allocations.current"), int64_t(1));
  CHECK_EQUAL(f.stat("oversize_segments.current"), int64_t(1));
  CHECK_EQUAL(f.stat("max_split_size"), int64_t(32 * kMiB));
  const Address address = big->ptr;
  f.allocator.free(big);
  CHECK(f.allocator.allocate(12 * kMiB, 0)->ptr != address);      // not cut for a small request
  CHECK_EQUAL(f.allocator.allocate(36 * kMiB, 0)->ptr, address);  // but given whole to a similar one
  CHECK_EQUAL(f.stat("inactive_split.large_pool.current"), int64_t(0));
}

TEST("a full device gives up oversize blocks before the rest of the cache") {
  AllocatorSettings settings;
  settings.max_split_size = 32 * kMiB;
  Fixture f(128 * kMiB, settings);
  Block* big = f.allocator.allocate(80 * kMiB, 0);
  Block* medium = f.allocator.allocate(20 * kMiB, 0);
  f.allocator.free(big);
  f.allocator.free(medium);
  f.allocator.free(f.allocator.allocate(50 * kMiB, 0));  // 80 MiB would be 30 too many, so it goes back
  CHECK_EQUAL(f.stat("num_device_free"), int64_t(1));
  CHECK_EQUAL(f.stat("num_alloc_retries"), int64_t(0));
}

TEST("history records what happened, in order, in a ring") {
  Fixture f;
  f.allocator.record_history(100, false);
  f.allocator.set_stack_recorder([] { return uint64_t(42); });
  f.allocator.free(f.allocator.allocate(1000, 0));
  f.allocator.empty_cache();
  std::string actions;
  for (const TraceEntry& entry : f.allocator.snapshot(true).trace)
    actions += std::string(trace_action_name(entry.action)) + " ";
  CHECK_EQUAL(actions,
              std::string("segment_alloc alloc free_requested free_completed segment_free snapshot "));
  CHECK_EQUAL(f.allocator.snapshot(true).trace[1].stack, uint64_t(42));
  CHECK_EQUAL(f.allocator.snapshot(true).trace[1].size, size_t(1000));
  f.allocator.record_history(3, true);
  for (int i = 0; i < 5; ++i) f.allocator.free(f.allocator.allocate(1000, 0));
  CHECK_EQUAL(f.allocator.snapshot(true).trace.size(), size_t(3));
  CHECK(f.allocator.snapshot(true).trace_overflowed);
  f.allocator.record_history(0, false);
  CHECK_EQUAL(f.allocator.snapshot(true).trace.size(), size_t(3));  // stopping keeps what was recorded
}

TEST("an observer sees every allocation and free with the totals") {
  Fixture f;
  std::vector<int64_t> bytes;
  int64_t total = 0;
  f.allocator.set_memory_observer([&](const MemoryEvent& event) {
    bytes.push_back(event.bytes);
    total = event.total_allocated;
  });
  Block* block = f.allocator.allocate(1000, 0);
  CHECK_EQUAL(total, int64_t(1024));
  f.allocator.free(block);
  CHECK_EQUAL(total, int64_t(0));
  f.allocator.set_memory_observer({});
  f.allocator.free(f.allocator.allocate(1000, 0));
  CHECK_EQUAL(bytes.size(), size_t(2));
  CHECK_EQUAL(bytes[1], int64_t(-1024));
}

TEST("peak and accumulated counters are reset apart from each other") {
  Fixture f;
  f.allocator.free(f.allocator.allocate(1000, 0));
  f.allocator.reset_peak_stats();
  CHECK_EQUAL(f.stat("allocated_bytes.all.peak"), int64_t(0));
  CHECK_EQUAL(f.stat("allocated_bytes.all.allocated"), int64_t(1024));
  f.allocator.reset_accumulated_stats();
  CHECK_EQUAL(f.stat("allocated_bytes.all.allocated"), int64_t(0));
  CHECK_EQUAL(f.stat("reserved_bytes.all.current"), int64_t(2 * kMiB));
}

TEST("absurd sizes are an error, not an overflow") {
  Fixture f;
  CHECK(contains(error_of([&] { f.allocator.allocate(size_t(-100), 0); }),
                 "out of memory. Tried to allocate more"));
}
