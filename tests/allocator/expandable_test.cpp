// Segments that grow in place: what they map, what they give back, and random programs on them.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "runtime/caching_allocator.h"
#include "testing.h"
#include "upstream_double.h"

using namespace mt::runtime;

namespace {

AllocatorSettings expandable() {
  AllocatorSettings settings;
  settings.expandable_segments = true;
  return settings;
}

struct Pool {
  explicit Pool(size_t bytes, AllocatorSettings settings = expandable())
      : device(std::make_shared<UpstreamDouble>(bytes)), allocator(device, kIdentity, settings) {}
  std::shared_ptr<UpstreamDouble> device;
  CachingAllocator allocator;
};

// Mapped runs do not overlap, their blocks tile them, and the counters say what the device lends.
void check_state(Pool& pool, const std::map<Address, Block*>& live) {
  Address end = 0;
  size_t reserved = 0, allocated = 0;
  for (const SegmentState& segment : pool.allocator.snapshot(false).segments) {
    CHECK(segment.address >= end);
    CHECK(segment.expandable);
    Address at = segment.address;
    bool last_was_free = false;
    for (const BlockState& block : segment.blocks) {
      CHECK_EQUAL(block.address, at);
      const bool is_free = std::string(block.state) == "inactive";
      CHECK(!(is_free && last_was_free));
      last_was_free = is_free;
      at += block.size;
      if (std::string(block.state) == "active_allocated") {
        CHECK_EQUAL(live.count(block.address), size_t(1));
        ++allocated;
      }
    }
    CHECK_EQUAL(at, segment.address + segment.size);
    reserved += segment.size;
    end = at;
  }
  const AllocatorStats stats = pool.allocator.stats();
  CHECK_EQUAL(allocated, live.size());
  CHECK_EQUAL(reserved, size_t(stats.reserved_bytes.all.current));
  CHECK_EQUAL(reserved, pool.device->used());
  CHECK_EQUAL(stats.segment.all.current, int64_t(0));
  CHECK_EQUAL(stats.inactive_split_bytes.all.current, int64_t(0));
}

void run_program(unsigned seed, size_t device_bytes) {
  Pool pool(device_bytes);
  std::mt19937 random(seed);
  std::map<Address, Block*> live;
  std::vector<Address> order;
  int out_of_memory = 0;
  const auto free_one = [&](size_t index) {
    const Address address = order[index];
    order[index] = order.back();
    order.pop_back();
    pool.allocator.free(live.at(address));
    live.erase(address);
  };
  for (int step = 0; step < 30'000; ++step) {
    const unsigned choice = random() % 100;
    const StreamHandle stream = random() % 4 == 0 ? 1 + random() % 2 : 0;
    if (choice < 48) {
      const size_t bytes = 1 + random() % (size_t(1) << (9 + random() % 17));
      try {
        Block* block = pool.allocator.allocate(bytes, stream);
        CHECK(block->size >= bytes);
        CHECK(block->size < bytes + 1024);  // what is left over is split off
        const auto next = live.lower_bound(block->ptr);
        if (next != live.end()) CHECK(block->ptr + block->size <= next->first);
        if (next != live.begin()) CHECK(std::prev(next)->first + std::prev(next)->second->size <= block->ptr);
        live[block->ptr] = block;
        order.push_back(block->ptr);
      } catch (const mt::Error& error) {
        CHECK(error.kind() == mt::ErrorKind::out_of_memory);
        ++out_of_memory;
        for (size_t count = order.size() / 2; count > 0; --count) free_one(random() % order.size());
      }
    } else if (choice < 90) {
      if (!order.empty()) free_one(random() % order.size());
    } else if (choice < 95) {
      if (!order.empty()) pool.allocator.record_stream(live.at(order[random() % order.size()]), stream);
    } else if (choice < 99 || random() % 20 != 0) {
      pool.device->finish(stream);
    } else {
      pool.allocator.empty_cache();
    }
    if (step % 500 == 0) check_state(pool, live);
  }
  check_state(pool, live);
  if (device_bytes < (size_t(1) << 30)) CHECK(out_of_memory > 3);
  while (!order.empty()) free_one(order.size() - 1);
  pool.allocator.empty_cache();
  check_state(pool, live);
  CHECK_EQUAL(pool.device->used(), size_t(0));
  CHECK_EQUAL(pool.device->reserved_ranges(), size_t(0));
  CHECK_EQUAL(pool.device->live_events(), size_t(0));
}

}  // namespace

TEST("a growing segment continues where its last block ended") {
  Pool pool(256 * kMiB);
  Block* first = pool.allocator.allocate(12 * kMiB, 0);
  CHECK_EQUAL(pool.device->used(), 20 * kMiB);  // one granule
  Block* second = pool.allocator.allocate(12 * kMiB, 0);
  CHECK_EQUAL(second->ptr, first->ptr + first->size);
  CHECK_EQUAL(pool.device->used(), 40 * kMiB);
  CHECK_EQUAL(pool.device->calls.allocate, 0);
  CHECK_EQUAL(pool.allocator.stats().num_device_alloc, int64_t(2));
}

TEST("a block that was freed at the end grows for a larger request") {
  Pool pool(256 * kMiB);
  Block* first = pool.allocator.allocate(30 * kMiB, 0);
  const Address address = first->ptr;
  pool.allocator.free(first);
  Block* larger = pool.allocator.allocate(100 * kMiB, 0);
  CHECK_EQUAL(larger->ptr, address);
  CHECK_EQUAL(pool.device->used(), 100 * kMiB);
}

TEST("free granules between live blocks go back, their addresses are used again") {
  Pool pool(256 * kMiB);
  Block* first = pool.allocator.allocate(40 * kMiB, 0);
  Block* middle = pool.allocator.allocate(60 * kMiB, 0);
  Block* last = pool.allocator.allocate(20 * kMiB, 0);
  const Address hole = middle->ptr;
  pool.allocator.free(middle);
  pool.allocator.empty_cache();
  CHECK_EQUAL(pool.device->used(), 60 * kMiB);
  const Snapshot snapshot = pool.allocator.snapshot(false);
  CHECK_EQUAL(snapshot.segments.size(), size_t(2));
  Block* again = pool.allocator.allocate(50 * kMiB, 0);
  CHECK_EQUAL(again->ptr, hole);
  CHECK_EQUAL(pool.device->used(), 120 * kMiB);
  for (Block* block : {first, last, again}) pool.allocator.free(block);
  pool.allocator.empty_cache();
  CHECK_EQUAL(pool.device->used(), size_t(0));
  CHECK_EQUAL(pool.device->reserved_ranges(), size_t(0));
}

TEST("fragments that fixed segments would strand serve a large request") {
  const auto largest_after_holes = [](AllocatorSettings settings) {
    Pool pool(200 * kMiB, settings);
    std::vector<Block*> blocks;
    for (int i = 0; i < 40; ++i) blocks.push_back(pool.allocator.allocate(4 * kMiB, 0));
    for (size_t i = 0; i < blocks.size(); ++i)
      if (i % 5 != 0) pool.allocator.free(blocks[i]);  // a live block in every 20 MiB
    size_t largest = 0;
    for (size_t mib = 20; mib <= 140; mib += 20) {
      try {
        Block* block = pool.allocator.allocate(mib * kMiB, 0);
        largest = mib;
        pool.allocator.free(block);
        pool.allocator.empty_cache();
      } catch (const mt::Error&) { break; }
    }
    return largest;
  };
  CHECK(largest_after_holes(expandable()) >= largest_after_holes({}));
}

TEST("a mapping that fails half way leaves nothing mapped and is an out of memory error") {
  Pool pool(50 * kMiB);
  const std::string text = testing::error_of([&] { pool.allocator.allocate(100 * kMiB, 0); });
  CHECK(text.find("out of memory") != std::string::npos);
  CHECK(text.find("expandable_segments") == std::string::npos);  // no advice that is followed already
  CHECK_EQUAL(pool.device->used(), size_t(0));
  pool.allocator.free(pool.allocator.allocate(30 * kMiB, 0));
  CHECK_EQUAL(pool.device->used(), 40 * kMiB);
}

TEST("history shows what is mapped and unmapped") {
  Pool pool(256 * kMiB);
  pool.allocator.record_history(100, true);
  pool.allocator.free(pool.allocator.allocate(30 * kMiB, 0));
  pool.allocator.empty_cache();
  std::vector<std::string> actions;
  for (const TraceEntry& entry : pool.allocator.snapshot(true).trace)
    actions.push_back(trace_action_name(entry.action));
  CHECK(actions == std::vector<std::string>({"segment_map", "alloc", "free_requested", "free_completed",
                                             "segment_unmap", "snapshot"}));
}

TEST("30,000 random operations on growing segments of a roomy device keep every promise") {
  run_program(1, size_t(8) << 30);
}

TEST("30,000 random operations on growing segments of a device that is often full keep every promise") {
  run_program(2, size_t(192) << 20);
}

TEST("threads that grow the same segment never share a byte") {
  Pool pool(size_t(1) << 30);
  pool.device->always_complete = true;
  std::mutex mutex;
  std::map<Address, Address> held;  // begin, end
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Block*> mine;
    for (int step = 0; step < 3000; ++step) {
      if (mine.size() < 8 && random() % 2) {
        Block* block = pool.allocator.allocate(1 + random() % (16 * kMiB), 0);
        std::lock_guard<std::mutex> guard(mutex);
        const auto next = held.lower_bound(block->ptr);
        CHECK(next == held.end() || block->ptr + block->size <= next->first);
        CHECK(next == held.begin() || std::prev(next)->second <= block->ptr);
        held[block->ptr] = block->ptr + block->size;
        mine.push_back(block);
      } else if (!mine.empty()) {
        std::swap(mine[random() % mine.size()], mine.back());
        {
          std::lock_guard<std::mutex> guard(mutex);
          held.erase(mine.back()->ptr);
        }
        pool.allocator.free(mine.back());
        mine.pop_back();
      }
      if (random() % 200 == 0) pool.allocator.empty_cache();
    }
    for (Block* block : mine) {
      std::lock_guard<std::mutex> guard(mutex);
      held.erase(block->ptr);
      pool.allocator.free(block);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  pool.allocator.empty_cache();
  CHECK_EQUAL(pool.device->used(), size_t(0));
}
