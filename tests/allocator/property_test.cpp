// Random programs: the allocator against the model, address by address and counter by counter.
#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "model.h"
#include "runtime/caching_allocator.h"
#include "testing.h"

using namespace mt::runtime;

namespace {

constexpr int kOperations = 100'000;

void check_counters(CachingAllocator& allocator, const Model& model, int step) {
  const AllocatorStats got = allocator.stats();
  const auto& names = allocator_stat_names();
  for (size_t i = 0; i < names.size(); ++i)
    if (got.values()[i] != model.stats.values()[i])
      testing::fail_at(__FILE__, __LINE__,
                       mt::join_text("after operation ", step, ": ", names[i], " is ", got.values()[i],
                                     ", the model says ", model.stats.values()[i]));
}

// Blocks tile their segments, segments do not overlap, and no live range meets another.
void check_layout(CachingAllocator& allocator, const std::map<Address, Block*>& live) {
  Address end_of_last = 0;
  size_t allocated = 0;
  for (const SegmentState& segment : allocator.snapshot(false).segments) {
    CHECK(segment.address >= end_of_last);
    Address at = segment.address;
    bool last_was_free = false;
    for (const BlockState& block : segment.blocks) {
      CHECK_EQUAL(block.address, at);
      const bool is_free = std::string(block.state) == "inactive";
      CHECK(!(is_free && last_was_free));  // free neighbours have merged
      last_was_free = is_free;
      at += block.size;
      if (std::string(block.state) == "active_allocated") {
        ++allocated;
        CHECK_EQUAL(live.count(block.address), size_t(1));
      }
    }
    CHECK_EQUAL(at, segment.address + segment.size);
    end_of_last = at;
  }
  CHECK_EQUAL(allocated, live.size());
}

size_t random_size(std::mt19937& random) {
  switch (random() % 8) {
    case 0: return 1 + random() % 512;
    case 1:
    case 2:
    case 3: return 1 + random() % (64 << 10);
    case 4:
    case 5: return 1 + random() % (1 << 20);
    case 6: return 1 + random() % (8 << 20);
    default: return 1 + random() % (24 << 20);
  }
}

void run_program(unsigned seed, size_t device_bytes, const AllocatorSettings& settings) {
  auto device = std::make_shared<UpstreamDouble>(device_bytes);
  CachingAllocator allocator(device, kIdentity, settings);
  Model model(device_bytes, settings);
  std::mt19937 random(seed);
  std::map<Address, Block*> live;
  std::vector<Address> order;
  int out_of_memory = 0;

  const auto free_one = [&](size_t index) {
    const Address address = order[index];
    order[index] = order.back();
    order.pop_back();
    allocator.free(live.at(address));
    live.erase(address);
    model.free(address);
  };

  for (int step = 0; step < kOperations; ++step) {
    const unsigned choice = random() % 100;
    const StreamHandle stream = random() % 4 == 0 ? 1 + random() % 2 : 0;
    if (choice < 48) {
      const size_t bytes = random_size(random);
      const auto expected = model.allocate(bytes, stream);
      Block* block = nullptr;
      try {
        block = allocator.allocate(bytes, stream);
      } catch (const mt::Error& error) {
        CHECK(error.kind() == mt::ErrorKind::out_of_memory);
        ++out_of_memory;
      }
      CHECK_EQUAL(block != nullptr, expected.has_value());
      if (block) {
        CHECK_EQUAL(block->ptr, *expected);
        CHECK(block->size >= bytes);
        CHECK_EQUAL(live.count(block->ptr), size_t(0));
        live[block->ptr] = block;
        order.push_back(block->ptr);
      } else {
        // The program reacts as a user would: it drops a good part of what it holds.
        for (size_t count = order.size() / 2; count > 0; --count) free_one(random() % order.size());
      }
    } else if (choice < 90) {
      if (!order.empty()) free_one(random() % order.size());
    } else if (choice < 95) {
      if (!order.empty()) {
        const Address address = order[random() % order.size()];
        allocator.record_stream(live.at(address), stream);
        model.record_stream(address, stream);
      }
    } else if (choice < 99 || random() % 50 != 0) {
      device->finish(stream);
      model.finish(stream);
    } else {
      allocator.empty_cache();
      model.empty_cache();
    }
    if (step % 100 == 0) check_counters(allocator, model, step);
    if (step % 1000 == 0) check_layout(allocator, live);
  }
  check_counters(allocator, model, kOperations);
  if (device_bytes < (size_t(1) << 30)) CHECK(out_of_memory > 10);  // the hard part was reached

  while (!order.empty()) free_one(order.size() - 1);
  allocator.empty_cache();
  model.empty_cache();
  check_counters(allocator, model, kOperations + 1);
  CHECK_EQUAL(allocator.snapshot(false).segments.size(), size_t(0));
  CHECK_EQUAL(device->used(), size_t(0));
  CHECK_EQUAL(device->live_events(), size_t(0));
  CHECK_EQUAL(allocator.stats().active_bytes.all.current, int64_t(0));
  CHECK_EQUAL(allocator.stats().inactive_split_bytes.all.current, int64_t(0));
}

}  // namespace

TEST("100,000 random operations on a roomy device agree with the model and give everything back") {
  run_program(1, size_t(16) << 30, {});
}

TEST(
    "100,000 random operations on a device that is often full agree with the model and give everything "
    "back") {
  run_program(2, size_t(192) << 20, {});
}

TEST("100,000 random operations with rounding to divisions agree with the model and give everything back") {
  AllocatorSettings settings;
  settings.roundup_divisions.fill(4);
  run_program(3, size_t(256) << 20, settings);
}
