// Many threads, one allocator.
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "runtime/caching_allocator.h"
#include "runtime/pinned_pool.h"
#include "testing.h"
#include "upstream_double.h"

using namespace mt::runtime;

namespace {

// Claims each 512-byte unit of the device, so that a block handed to two threads at once is noticed.
class Claims {
 public:
  explicit Claims(size_t bytes) : units_(bytes / 512) {}
  bool claim(const Block* block) { return set(block, 0, 1); }
  bool give_up(const Block* block) { return set(block, 1, 0); }

 private:
  bool set(const Block* block, char from, char to) {
    const size_t first = (block->ptr - UpstreamDouble::kBase) / 512;
    for (size_t unit = first; unit < first + block->size / 512; ++unit) {
      char expected = from;
      if (!units_[unit].compare_exchange_strong(expected, to)) return false;
    }
    return true;
  }
  std::vector<std::atomic<char>> units_;
};

}  // namespace

TEST("threads that allocate, share and free at once never hold the same memory, and lose none") {
  constexpr size_t kDevice = 96 * kMiB;
  constexpr int kThreads = 8, kSteps = 20'000;
  auto device = std::make_shared<UpstreamDouble>(kDevice);
  CachingAllocator allocator(device, kIdentity);
  // The device hands out lowest addresses first and may leave gaps, so claims cover twice its size.
  Claims claims(4 * kDevice);
  std::atomic<int> overlaps{0}, out_of_memory{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      std::mt19937 random{unsigned(thread)};
      std::vector<Block*> mine;
      const auto free_one = [&] {
        const size_t index = random() % mine.size();
        Block* block = mine[index];
        mine[index] = mine.back();
        mine.pop_back();
        if (!claims.give_up(block)) ++overlaps;
        allocator.free(block);
      };
      for (int step = 0; step < kSteps; ++step) {
        const unsigned choice = random() % 100;
        if (choice < 50) {
          try {
            Block* block =
                allocator.allocate(1 + random() % (random() % 10 ? 50'000 : 3'000'000), random() % 3);
            if (!claims.claim(block)) ++overlaps;
            if (random() % 10 == 0) allocator.record_stream(block, random() % 3);
            mine.push_back(block);
          } catch (const mt::Error&) {
            ++out_of_memory;
            while (mine.size() > 4) free_one();
          }
        } else if (choice < 97) {
          if (!mine.empty()) free_one();
        } else if (choice < 99) {
          device->finish(random() % 3);
        } else if (random() % 20 == 0) {
          allocator.empty_cache();
        } else {
          allocator.snapshot(true);
        }
      }
      while (!mine.empty()) free_one();
    });
  for (std::thread& thread : threads) thread.join();
  CHECK_EQUAL(overlaps.load(), 0);
  allocator.empty_cache();
  const AllocatorStats stats = allocator.stats();
  CHECK_EQUAL(stats.allocation.all.current, int64_t(0));
  CHECK_EQUAL(stats.active_bytes.all.current, int64_t(0));
  CHECK_EQUAL(stats.reserved_bytes.all.current, int64_t(0));
  CHECK_EQUAL(stats.allocation.all.allocated, stats.allocation.all.freed);
  CHECK_EQUAL(device->used(), size_t(0));
  CHECK_EQUAL(device->live_events(), size_t(0));
}

TEST("an upstream that allocates again inside its own call does not lock up") {
  // A Python upstream can do this: a garbage collection inside a hook frees and makes tensors.
  class Reentrant : public UpstreamDouble {
   public:
    using UpstreamDouble::UpstreamDouble;
    CachingAllocator* allocator = nullptr;
    RawMemory allocate(size_t bytes) override {
      if (allocator && !inside_) {
        inside_ = true;
        Block* block = allocator->allocate(5 * kMiB, 0);
        allocator->record_stream(block, 1);
        allocator->free(block);
        inside_ = false;
      }
      return UpstreamDouble::allocate(bytes);
    }

   private:
    bool inside_ = false;
  };
  auto device = std::make_shared<Reentrant>(size_t(1) << 30);
  CachingAllocator allocator(device, kIdentity);
  device->allocator = &allocator;
  allocator.free(allocator.allocate(100 * kMiB, 0));
  allocator.empty_cache();
  CHECK_EQUAL(device->used(), size_t(0));
}

TEST(
    "pinned memory is reused, waits for the streams that copy from it, and is told apart from other memory") {
  auto host = std::make_shared<UpstreamDouble>(size_t(1) << 30);
  PinnedPool pool(host);
  const Address first = pool.allocate(5000);
  CHECK(pool.is_pinned(first));
  CHECK(pool.is_pinned(first + 4999));
  CHECK(!pool.is_pinned(first - 1));
  CHECK_EQUAL(pool.stats().active_bytes.current, int64_t(8192));  // a power of two
  pool.record_stream(first, 3);
  pool.free(first);
  CHECK(!pool.is_pinned(first));
  const Address second = pool.allocate(5000);
  CHECK(second != first);
  host->finish(3);
  CHECK_EQUAL(pool.allocate(6000), first);
  CHECK_EQUAL(pool.stats().num_host_alloc, int64_t(2));
  pool.free(first);
  pool.free(second);
  pool.empty_cache();
  CHECK_EQUAL(host->used(), size_t(0));
  CHECK_EQUAL(pool.stats().num_host_free, int64_t(2));
  CHECK(testing::error_of([&] { pool.free(first); }).find("no block in use") != std::string::npos);
}

TEST("large pinned blocks are not rounded to a power of two, and above the cache limit not kept") {
  auto host = std::make_shared<UpstreamDouble>(size_t(1) << 30);
  PinnedSettings settings;
  settings.max_cached_size = 80 * kMiB;
  PinnedPool pool(host, settings);
  const Address block = pool.allocate(100 * kMiB);
  CHECK_EQUAL(pool.stats().allocated_bytes.current, int64_t(100 * kMiB));
  pool.free(block);
  CHECK_EQUAL(host->used(), size_t(0));
}
