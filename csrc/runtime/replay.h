// A program's history of allocations, repeated on an allocator with other settings and a device of another size.
//
// Note [Replay]
// A history says what a program asked for (allocations, frees, uses by other streams that ended, caches that it emptied)
// and what the allocator then did (segments). Only the first are steps here; the second follow from the policy. Two
// devices can stand below: one with a capacity, which refuses what it has no room for ("what if"), and one that repeats
// what the recorded device did: it hands out the recorded addresses, and refuses a segment until what the recorded
// allocator gave back before it got that segment has been given back. On the second, recorded settings give the recorded
// events, address by address; that is how replay is tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/caching_allocator.h"
#include "runtime/simulated_device.h"

namespace mt::runtime {

enum class StepKind : int64_t {
  allocate,     // key, size, stream, pool
  free,         // key
  free_in_use,  // key, other: streams still use the block; `other` stands for them
  use_ended,    // other
  empty_cache,
  empty_pool,  // pool: its owner has gone
  fail,        // size, stream, pool: an allocation that could not be had
  adopt,       // key (the address), size, stream, pool, other (1: small): a segment from before the history
  keep,        // key, size: of a block from before the history, what was asked for
};

struct ReplayStep {
  StepKind kind;
  int64_t key, size, stream, pool, other;
};

// What the recorded device did in a step.
struct RecordedGrant {
  int64_t step;
  Address address;
  size_t bytes;
};
struct RecordedReturn {
  int64_t step;
  size_t bytes;  // given back by the allocator before it got more
};

class RecordedDevice;

struct ReplayCounts {
  int64_t device_allocations = 0, device_frees = 0, synchronizations = 0, refusals = 0;
  int64_t collections = 0;    // steps in which memory went back before the device refused any
  int64_t reached = 0;        // requests that failed then and could be had now
  int64_t failed_step = -1;   // the first allocation that failed and did not fail then
  std::string failure;        // what its error says
  int64_t peak_segments = 0;  // of fixed size
  int64_t peak_reserved_step = -1;
  int64_t reserved_at_peak = 0, allocated_at_peak_reserved = 0, active_at_peak_reserved = 0;
};

class Replay {
 public:
  Replay(const AllocatorSettings& settings, size_t capacity, std::vector<ReplayStep> steps);
  ~Replay();
  // The device repeats what it did; else it has `capacity` bytes and decides itself.
  void repeat_device(std::vector<RecordedGrant> grants, std::vector<RecordedReturn> returns);
  // History is recorded from this step on.
  void record_from(int64_t step) { record_from_ = step; }

  // Steps up to `last`; false when an allocation has failed and nothing more is to be done.
  bool run(int64_t last);

  const ReplayCounts& counts() const { return counts_; }
  AllocatorStats stats() { return allocator_->stats(); }
  std::vector<TraceEntry> trace() { return allocator_->snapshot(true).trace; }
  // After each step.
  const std::vector<int64_t>& reserved() const { return reserved_; }
  const std::vector<int64_t>& allocated() const { return allocated_; }

 private:
  bool take(const ReplayStep& step);
  Block* allocate(const ReplayStep& step);
  void note();

  std::shared_ptr<RecordedDevice> device_;
  std::unique_ptr<CachingAllocator> allocator_;
  const std::vector<ReplayStep> steps_;
  int64_t next_ = 0, record_from_ = 0;
  std::unordered_map<int64_t, Block*> blocks_;
  std::unordered_set<int64_t> pools_;  // that have an owner
  ReplayCounts counts_;
  std::vector<int64_t> reserved_, allocated_;
};

}  // namespace mt::runtime
