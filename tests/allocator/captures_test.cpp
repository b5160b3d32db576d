// While a graph is captured, pools ask nothing of the device that a capture forbids.
#include <memory>

#include "runtime/caching_allocator.h"
#include "runtime/pinned_pool.h"
#include "testing.h"
#include "upstream_double.h"

using namespace mt::runtime;

namespace {

constexpr StreamHandle kOther = 7;

struct Device {
  explicit Device(size_t bytes)
      : upstream(std::make_shared<UpstreamDouble>(bytes)), allocator(upstream, kIdentity, {}) {}
  std::shared_ptr<UpstreamDouble> upstream;
  CachingAllocator allocator;
};

}  // namespace

TEST("a block that another stream used gets its event when the capture has ended") {
  Device device(256 * kMiB);
  Block* block = device.allocator.allocate(3 * kMiB, 0);
  device.allocator.record_stream(block, kOther);
  device.allocator.capture_began();
  device.allocator.free(block);
  CHECK_EQUAL(device.upstream->calls.record_event, 0);
  CHECK(device.allocator.allocate(3 * kMiB, 0) != block);
  device.allocator.capture_ended();
  CHECK_EQUAL(device.upstream->calls.record_event, 1);
  device.upstream->finish(kOther);
  device.allocator.empty_cache();
  CHECK_EQUAL(device.allocator.stats().active_bytes.all.current, int64_t(3 * kMiB));
}

TEST("captures are counted: the last one to end lets events be recorded again") {
  Device device(256 * kMiB);
  Block* block = device.allocator.allocate(3 * kMiB, 0);
  device.allocator.record_stream(block, kOther);
  device.allocator.capture_began();
  device.allocator.capture_began();
  device.allocator.free(block);
  device.allocator.capture_ended();
  CHECK_EQUAL(device.upstream->calls.record_event, 0);
  device.allocator.capture_ended();
  CHECK_EQUAL(device.upstream->calls.record_event, 1);
}

TEST("a full device is not waited for during a capture, and nothing goes back to it") {
  Device device(64 * kMiB);
  Block* cached = device.allocator.allocate(30 * kMiB, 0);
  device.allocator.free(cached);
  device.allocator.capture_began();
  device.allocator.empty_cache();
  const std::string message = testing::error_of([&] { device.allocator.allocate(40 * kMiB, 0); });
  CHECK(message.find("out of memory") != std::string::npos);
  CHECK_EQUAL(device.upstream->calls.synchronize, 0);
  CHECK_EQUAL(device.upstream->calls.free, 0);
  device.allocator.capture_ended();
  CHECK(device.allocator.allocate(40 * kMiB, 0) != nullptr);
}

TEST("memory of a graph is not given back before its replays are done") {
  Device device(256 * kMiB);
  device.allocator.retain_pool(1, {});
  device.allocator.begin_pool(1, {});
  device.allocator.free(device.allocator.allocate(3 * kMiB, 0));
  device.allocator.end_pool(1);
  device.allocator.free(device.allocator.allocate(3 * kMiB, 0));
  device.allocator.empty_cache();  // waits for the device: what was freed so far is unused
  const int waits = device.upstream->calls.synchronize;
  device.allocator.release_pool(1);  // a replay may be under way
  device.allocator.empty_cache();
  CHECK_EQUAL(device.upstream->calls.synchronize, waits + 1);
  CHECK_EQUAL(device.upstream->used(), size_t(0));
}

TEST("pinned memory of a captured copy is kept until its graph lets it go") {
  auto upstream = std::make_shared<UpstreamDouble>(64 * kMiB);
  PinnedPool pool(upstream);
  const Address address = pool.allocate(kMiB);
  pool.capture_began();
  pool.keep(address);
  pool.free(address);
  pool.capture_ended();
  CHECK(pool.allocate(kMiB) != address);
  pool.let_go(address, kOther);  // replayed there last
  CHECK_EQUAL(upstream->calls.record_event, 1);
  CHECK(pool.allocate(kMiB) != address);
  upstream->finish(kOther);
  CHECK_EQUAL(pool.allocate(kMiB), address);
}

TEST("pinned memory that a stream reads is freed without an event during a capture") {
  auto upstream = std::make_shared<UpstreamDouble>(64 * kMiB);
  PinnedPool pool(upstream);
  const Address address = pool.allocate(kMiB);
  pool.record_stream(address, kOther);
  pool.capture_began();
  pool.free(address);
  CHECK_EQUAL(upstream->calls.record_event, 0);
  CHECK(pool.allocate(kMiB) != address);
  pool.capture_ended();
  CHECK_EQUAL(upstream->calls.record_event, 1);
}
