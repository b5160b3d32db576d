// Settings of the memory pools, and the text they are written in:
// "max_split_size_mb:128,expandable_segments:False".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mt::runtime {

inline constexpr size_t kMiB = size_t(1) << 20;
inline constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

// PyTorch's numbers, which users know and tests of memory use rely on.
inline constexpr size_t kMinBlockSize = 512;           // every size is a multiple of this
inline constexpr size_t kSmallSize = kMiB;             // the largest request of the small pool
inline constexpr size_t kSmallSegment = 2 * kMiB;      // what the small pool takes from the device
inline constexpr size_t kMinLargeRequest = 10 * kMiB;  // from here on a request gets a segment of its own
inline constexpr size_t kLargeRounding = 2 * kMiB;     // whose size is a multiple of this
inline constexpr size_t kRoundupIntervals = 16;        // [1 MiB, 2 MiB) … [32 GiB, ∞)
inline constexpr size_t kMostLazyUses = 512;           // more uses by other streams are never left waiting

struct AllocatorSettings {
  size_t max_split_size = kUnlimited;         // blocks of this size or more are never split
  size_t max_non_split_rounding = 20 * kMiB;  // how much larger such a block may be than the request
  size_t large_segment_size = 20 * kMiB;      // what the large pool takes for requests below 10 MiB
  double garbage_collection_threshold = 0;    // 0: off; else a part of the memory that may be used
  double memory_fraction = 1.0;               // the part of the device's memory this process may hold
  bool expandable_segments = false;           // segments that grow in place, where the device can map memory
  bool lazy_reclaim = false;                  // uses by other streams are looked at when nothing else fits
  bool reject_above_limit = false;            // fail at once above the limit instead of releasing caches
  std::array<uint32_t, kRoundupIntervals> roundup_divisions{};  // 0: off

  // The size of the block for a request, and of the segment when no cached block fits.
  size_t block_size(size_t requested) const;
  size_t segment_size(size_t block_size) const;
  // What a growing segment gets and gives back at a time.
  size_t granule(bool small) const { return small ? kSmallSegment : large_segment_size; }
};

struct PinnedSettings {
  // Above this, rounding to a power of two wastes more host memory than it saves calls.
  size_t max_rounded_size = 64 * kMiB;
  size_t max_cached_size = kUnlimited;  // larger blocks go back to the system at once
};

using ConfValue = std::variant<bool, int64_t, double, std::string, std::map<std::string, int64_t>>;

struct AllocConf {
  AllocatorSettings allocator;
  PinnedSettings pinned;
  std::map<std::string, ConfValue> values;  // the known keys that were given
  std::vector<std::string> unknown;         // the others, in order
};

// `source` names the environment variable in error messages. A bad value or broken syntax throws ValueError.
AllocConf parse_alloc_conf(std::string_view text, std::string_view source);
std::vector<std::string> alloc_conf_keys();

}  // namespace mt::runtime
