// The history of a memory pool (torch.<device>.memory._record_memory_history): a ring of what happened.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/upstream.h"

namespace mt::runtime {

enum class TraceAction : uint8_t {
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  snapshot,
  oom
};
inline constexpr int kTraceActions = int(TraceAction::oom) + 1;

struct TraceEntry {
  TraceAction action;
  Address address;  // for oom: the bytes the device still had free
  size_t size;      // requested bytes for blocks, whole bytes for segments
  StreamHandle stream;
  int64_t time_us;  // since the epoch
  uint64_t stack;   // an id from the stack recorder, 0 for none
  int64_t pool;     // 0: the default pool
};

class TraceLog {
 public:
  bool enabled() const { return max_entries_ != 0; }
  // 0 entries: off. What was recorded is kept unless `clear`. Bit i of `skipped`: action i is not recorded.
  void configure(size_t max_entries, bool clear, uint32_t skipped = 0) {
    skipped_ = skipped;
    if (clear || (max_entries != 0 && max_entries < entries_.size()))
      entries_.clear(), oldest_ = 0, overflowed_ = false;
    if (max_entries != 0 && entries_.size() < max_entries && oldest_ != 0) {  // the ring grows: straighten it
      entries_ = in_order();
      oldest_ = 0;
    }
    max_entries_ = max_entries;
  }
  // The time is filled in.
  void add(TraceEntry entry) {
    if (skipped_ >> uint32_t(entry.action) & 1) return;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    entry.time_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    if (entries_.size() < max_entries_) {
      entries_.push_back(entry);
    } else {
      entries_[oldest_] = entry;
      oldest_ = (oldest_ + 1) % entries_.size();
      overflowed_ = true;
    }
  }
  std::vector<TraceEntry> in_order() const {
    std::vector<TraceEntry> result(entries_.begin() + long(oldest_), entries_.end());
    result.insert(result.end(), entries_.begin(), entries_.begin() + long(oldest_));
    return result;
  }
  size_t max_entries() const { return max_entries_; }
  bool overflowed() const { return overflowed_; }

 private:
  std::vector<TraceEntry> entries_;
  size_t max_entries_ = 0;
  size_t oldest_ = 0;
  uint32_t skipped_ = 0;
  bool overflowed_ = false;
};

inline const char* trace_action_name(TraceAction action) {
  switch (action) {
    case TraceAction::alloc: return "alloc";
    case TraceAction::free_requested: return "free_requested";
    case TraceAction::free_completed: return "free_completed";
    case TraceAction::segment_alloc: return "segment_alloc";
    case TraceAction::segment_free: return "segment_free";
    case TraceAction::segment_map: return "segment_map";
    case TraceAction::segment_unmap: return "segment_unmap";
    case TraceAction::snapshot: return "snapshot";
    case TraceAction::oom: return "oom";
  }
  return "unknown";
}

}  // namespace mt::runtime
