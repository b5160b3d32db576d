// Time of allocate + free on a cache hit, from C++.
//
//   cmake -S . -B build/bench -DMT_TESTS=ON && cmake --build build/bench --target allocator_hit
//   build/bench/allocator_hit
//
// Prints the median of rounds, in nanoseconds per pair. Each case has one block cached, or a thousand beside it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "runtime/caching_allocator.h"

namespace {

using namespace mt::runtime;

// Made-up addresses: the device is not what is measured.
class Addresses final : public Upstream {
 public:
  RawMemory allocate(size_t bytes) override {
    next_ += bytes;
    return {next_ - bytes, bytes, {}};
  }
  void free(Address) override {}
  MemoryInfo memory_info() override { return {size_t(1) << 40, size_t(1) << 40}; }
  void synchronize() override {}
  EventHandle record_event(StreamHandle) override { return 1; }
  bool event_is_complete(EventHandle) override { return true; }
  void release_event(EventHandle) noexcept override {}

 private:
  Address next_ = Address(1) << 32;
};

double nanoseconds_per_pair(CachingAllocator& allocator, size_t bytes) {
  constexpr int kPairs = 10'000, kRounds = 101;
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kPairs; ++i) allocator.free(allocator.allocate(bytes, 0));
    const auto end = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::nano>(end - begin).count() / kPairs);
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

}  // namespace

int main() {
  for (size_t others : {0, 1000}) {
    CachingAllocator allocator(std::make_shared<Addresses>(), {});
    // Every second block is given back, so that the others stay apart as free ones.
    std::vector<Block*> blocks;
    for (size_t i = 0; i < 2 * others; ++i) blocks.push_back(allocator.allocate(512 * (1 + i % 97), 0));
    for (size_t i = 0; i < blocks.size(); i += 2) allocator.free(blocks[i]);
    for (size_t bytes : {size_t(1000), size_t(300) << 10, size_t(5) << 20, size_t(40) << 20})
      std::printf("%8zu KiB, %4zu other free blocks: %6.0f ns\n", (bytes + 1023) >> 10, others,
                  nanoseconds_per_pair(allocator, bytes));
  }
}
