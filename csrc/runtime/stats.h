// The counters of torch.<device>.memory_stats(): 123 numbers whose names are generated from their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mt::runtime {

struct Stat {
  int64_t current = 0;
  int64_t peak = 0;
  int64_t allocated = 0;  // everything ever added
  int64_t freed = 0;      // everything ever taken away

  void increase(int64_t amount) {
    current += amount;
    peak = std::max(peak, current);
    allocated += amount;
  }
  void decrease(int64_t amount) {
    current -= amount;
    freed += amount;
  }
  void change(int64_t amount) { amount >= 0 ? increase(amount) : decrease(-amount); }
};

// A counter kept for both pools together and for each of them.
struct PoolStat {
  Stat all, large, small;

  Stat& of(bool is_small) { return is_small ? small : large; }
  void increase(bool is_small, int64_t amount) { all.increase(amount), of(is_small).increase(amount); }
  void decrease(bool is_small, int64_t amount) { all.decrease(amount), of(is_small).decrease(amount); }
  void change(bool is_small, int64_t amount) { all.change(amount), of(is_small).change(amount); }
};

// Every member is made of int64_t, in the order of allocator_stat_names().
struct AllocatorStats {
  PoolStat allocation;      // blocks handed out
  PoolStat segment;         // pieces of memory held from the device
  PoolStat active;          // handed out, or given back and still used by a stream
  PoolStat inactive_split;  // free pieces of a segment that has other pieces: not releasable alone
  PoolStat allocated_bytes;
  PoolStat reserved_bytes;
  PoolStat active_bytes;
  PoolStat inactive_split_bytes;
  PoolStat requested_bytes;   // what callers asked, before rounding
  Stat oversize_allocations;  // of max_split_size or more
  Stat oversize_segments;
  int64_t num_alloc_retries = 0;  // device allocations repeated after the cache was released
  int64_t num_ooms = 0;           // device allocations that failed, whether or not a retry succeeded
  int64_t num_sync_all_streams = 0;
  int64_t num_device_alloc = 0;
  int64_t num_device_free = 0;
  int64_t num_oom_rejections = 0;  // refused by the limit before the device was asked
  int64_t max_split_size = -1;     // -1: unlimited

  void reset_peak();
  void reset_accumulated();
  int64_t* values() { return reinterpret_cast<int64_t*>(this); }
  const int64_t* values() const { return reinterpret_cast<const int64_t*>(this); }
};

inline constexpr size_t kAllocatorStatCount = 123;
static_assert(sizeof(AllocatorStats) == kAllocatorStatCount * sizeof(int64_t));

// "allocation.all.current", …: name i belongs to values()[i].
const std::vector<std::string>& allocator_stat_names();
// The index of a name; an unknown one throws an error that says which names there are.
size_t allocator_stat_index(std::string_view name);

}  // namespace mt::runtime
