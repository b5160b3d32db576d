// The state of a memory pool at one moment, as plain data.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/alloc_conf.h"
#include "runtime/free_lists.h"
#include "runtime/trace.h"

namespace mt::runtime {

struct BlockState {
  Address address;
  size_t size;
  size_t requested;
  const char* state;  // "active_allocated", "active_pending_free" or "inactive"
  StreamHandle stream;
  uint64_t stack;
};

struct SegmentState {
  Address address;
  size_t size = 0;
  size_t allocated = 0;
  size_t active = 0;
  size_t requested = 0;
  StreamHandle stream;
  bool small;
  bool expandable = false;  // a run of mapped memory in a growing segment
  int64_t pool = 0;
  std::vector<BlockState> blocks;  // tile the segment, in address order
};

struct Snapshot {
  std::vector<SegmentState> segments;  // by address
  std::vector<TraceEntry> trace;       // oldest first
  bool trace_overflowed;
  size_t trace_max_entries;
  AllocatorSettings settings;
};

BlockState state_of(const Block* block);
// The runs of memory in a list of blocks: one for a segment of fixed size, each mapped part of a growing one.
void add_segment_states(const Block* first, std::vector<SegmentState>& result);

}  // namespace mt::runtime
