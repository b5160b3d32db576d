// Private pools, pools over a user's functions, and working without a cache.
#include <memory>
#include <thread>

#include "runtime/caching_allocator.h"
#include "testing.h"
#include "upstream_double.h"

using namespace mt::runtime;

namespace {

struct Pool {
  explicit Pool(size_t bytes)
      : device(std::make_shared<UpstreamDouble>(bytes)), allocator(device, kIdentity, {}) {}
  std::shared_ptr<UpstreamDouble> device;
  CachingAllocator allocator;
};

// Counts what a user's functions would be asked.
class CountingSource : public RawSource {
 public:
  RawMemory allocate(size_t bytes, StreamHandle) override {
    const Address address = next_;
    next_ += bytes;
    held += bytes;
    return {address, bytes, {}};
  }
  void free(Address, size_t bytes, StreamHandle) override { held -= bytes; }
  size_t held = 0;

 private:
  Address next_ = Address(1) << 44;
};

}  // namespace

TEST("a private pool serves its thread between begin and end, and nobody else") {
  Pool pool(256 * kMiB);
  pool.allocator.begin_pool(1, {});
  Block* inside = pool.allocator.allocate(3 * kMiB, 0);
  Block* beside = nullptr;
  std::thread([&] { beside = pool.allocator.allocate(3 * kMiB, 0); }).join();
  CHECK_EQUAL(inside->pool->id, int64_t(1));
  CHECK_EQUAL(beside->pool->id, int64_t(0));
  pool.allocator.free(inside);
  pool.allocator.end_pool(1);
  Block* after = pool.allocator.allocate(3 * kMiB, 0);  // the free block of the pool is not used
  CHECK_EQUAL(after->pool->id, int64_t(0));
}

TEST("a pool keeps its memory until it has no users") {
  Pool pool(256 * kMiB);
  pool.allocator.retain_pool(1, {});
  pool.allocator.begin_pool(1, {});
  CHECK_EQUAL(pool.allocator.pool_users(1), 2);
  Block* block = pool.allocator.allocate(3 * kMiB, 0);
  pool.allocator.end_pool(1);
  pool.allocator.free(block);
  pool.allocator.empty_cache();
  CHECK_EQUAL(pool.device->used(), 20 * kMiB);
  CHECK_EQUAL(pool.allocator.reserved_by_pools().at(1).all.current, int64_t(20 * kMiB));
  pool.allocator.release_pool(1);
  pool.allocator.empty_cache();
  CHECK_EQUAL(pool.device->used(), size_t(0));
  CHECK(pool.allocator.reserved_by_pools().empty());
}

TEST("a block outlives its pool and goes back with the cache") {
  Pool pool(256 * kMiB);
  pool.allocator.begin_pool(1, {});
  Block* block = pool.allocator.allocate(3 * kMiB, 0);
  pool.allocator.end_pool(1);
  CHECK_EQUAL(pool.allocator.pool_users(1), 0);
  pool.allocator.empty_pool(1);
  CHECK_EQUAL(pool.device->used(), 20 * kMiB);
  pool.allocator.free(block);
  pool.allocator.empty_cache();
  CHECK_EQUAL(pool.device->used(), size_t(0));
}

TEST("a pool offered for it helps out when the device is full") {
  Pool pool(64 * kMiB);
  PoolOptions options;
  options.use_on_oom = true;
  pool.allocator.retain_pool(1, options);
  pool.allocator.begin_pool(1, options);
  Block* inside = pool.allocator.allocate(40 * kMiB, 0);
  pool.allocator.end_pool(1);
  const std::string text = testing::error_of([&] { pool.allocator.allocate(40 * kMiB, 0); });
  CHECK(text.find("out of memory") != std::string::npos);
  pool.allocator.free(inside);
  Block* helped = pool.allocator.allocate(40 * kMiB, 0);
  CHECK_EQUAL(helped->pool->id, int64_t(1));
}

TEST("a pool that does not split hands out whole segments") {
  Pool pool(256 * kMiB);
  PoolOptions options;
  options.no_split = true;
  pool.allocator.begin_pool(1, options);
  CHECK_EQUAL(pool.allocator.allocate(3 * kMiB, 0)->size, 20 * kMiB);
  pool.allocator.end_pool(1);
}

TEST("a pool over a user's functions takes its segments there") {
  Pool pool(256 * kMiB);
  PoolOptions options;
  auto source = std::make_shared<CountingSource>();
  options.source = source;
  pool.allocator.begin_pool(1, options);
  Block* block = pool.allocator.allocate(3 * kMiB, 0);
  CHECK_EQUAL(source->held, 20 * kMiB);
  CHECK_EQUAL(pool.device->used(), size_t(0));
  pool.allocator.end_pool(1);
  pool.allocator.free(block);
  pool.allocator.empty_cache();
  CHECK_EQUAL(source->held, size_t(0));
}

TEST("without a cache every free goes back to the device") {
  Pool pool(256 * kMiB);
  pool.allocator.set_caching(false);
  Block* block = pool.allocator.allocate(1000, 0);
  CHECK_EQUAL(pool.device->used(), size_t(1024));
  pool.allocator.free(block);
  CHECK_EQUAL(pool.device->used(), size_t(0));
  CHECK_EQUAL(pool.allocator.stats().reserved_bytes.all.current, int64_t(0));
  pool.allocator.set_caching(true);
  pool.allocator.free(pool.allocator.allocate(1000, 0));
  CHECK_EQUAL(pool.device->used(), 2 * kMiB);
}

TEST("without a cache, memory that another stream uses goes back when that stream is done") {
  Pool pool(256 * kMiB);
  pool.allocator.set_caching(false);
  Block* block = pool.allocator.allocate(1000, 0);
  pool.allocator.record_stream(block, 7);
  pool.allocator.free(block);
  CHECK_EQUAL(pool.device->used(), size_t(1024));
  pool.device->finish(7);
  pool.allocator.free(pool.allocator.allocate(1000, 0));
  CHECK_EQUAL(pool.device->used(), size_t(0));
}

TEST("a user's functions replace the device's before the first block, not later") {
  Pool pool(256 * kMiB);
  auto source = std::make_shared<CountingSource>();
  pool.allocator.set_caching(false, source);
  Block* block = pool.allocator.allocate(1000, 0);
  CHECK_EQUAL(source->held, size_t(1024));
  CHECK(testing::error_of([&] { pool.allocator.set_caching(false, source); }).find("in use") !=
        std::string::npos);
  pool.allocator.free(block);
  CHECK_EQUAL(source->held, size_t(0));
  CHECK_EQUAL(pool.device->calls.synchronize, 0);
}

TEST("an out of memory error names what pins stranded memory") {
  Pool pool(60 * kMiB);
  pool.allocator.set_stack_recorder(
      [] { return uint64_t(5); }, [](uint64_t stack) { return stack == 5 ? "model.py:88 in forward" : "?"; });
  std::vector<Block*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(pool.allocator.allocate(4 * kMiB, 0));
  for (int i : {1, 2, 3, 4, 6, 7, 8, 9}) pool.allocator.free(blocks[size_t(i)]);
  const std::string text = testing::error_of([&] { pool.allocator.allocate(25 * kMiB, 0); });
  CHECK(text.find("kept by 1 block(s) of together 4.00 MiB, allocated at model.py:88 in forward") !=
        std::string::npos);
  // Pieces of less than 20 MiB could not go back alone, so growing segments would not help.
  CHECK(text.find("expandable_segments:True") == std::string::npos);
}

TEST("an observer hears of an allocation before it fails") {
  Pool pool(10 * kMiB);
  size_t asked = 0, total = 0;
  pool.allocator.set_out_of_memory_observer(
      [&](size_t bytes, size_t device_total, size_t) { asked = bytes, total = device_total; });
  testing::error_of([&] { pool.allocator.allocate(25 * kMiB, 0); });
  CHECK_EQUAL(asked, 25 * kMiB);
  CHECK_EQUAL(total, 10 * kMiB);
}
