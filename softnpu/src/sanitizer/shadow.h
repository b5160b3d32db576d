// What the sanitizer knows about bytes: whether they were written, and who used them last.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sanitizer/access.h"
#include "sanitizer/clock.h"

namespace softnpu::sanitizer {

// One task of a stream, or one call that touched device memory by itself.
struct Operation {
  const char* name;
  int32_t stream;  // -1: the host
  int32_t device;  // of the stream; -1 for the host
  uint64_t call;   // its number among the calls of the process
  int thread;
  std::string note;  // where the program launched it, if it says so
  LaneIndex lane = kHostLane;
  uint64_t tick = 0;

  bool before(const VectorClock& now) const { return now.at(lane) >= tick; }
};
using OperationPointer = std::shared_ptr<const Operation>;

// A bit per byte of an allocation. Bits are made when first needed: most memory is written as a whole.
class WrittenBytes {
 public:
  explicit WrittenBytes(uint64_t bytes) : bytes_(bytes) {}

  void set(uint64_t begin, uint64_t end, bool written);
  // How many bytes of the range were never written, and the first of them.
  uint64_t count_unwritten(uint64_t begin, uint64_t end, uint64_t* first) const;
  bool get(uint64_t at) const { return !bits_.empty() && (bits_[at / 64] >> (at % 64) & 1) != 0; }

 private:
  uint64_t bytes_;
  std::vector<uint64_t> bits_;  // empty: nothing written yet
};

// The last writer of every byte and those who have read it since.
class LastUses {
 public:
  // A use that nothing orders before the one at hand, and the bytes they share.
  using Conflict = std::function<void(const OperationPointer& earlier, bool earlier_wrote, Run shared)>;

  void touch(Run run, bool write, const OperationPointer& operation, const VectorClock& now,
             const Conflict& conflict);
  // As touch() for a write, without keeping it: what does not come before `now`?
  void check(Run run, const VectorClock& now, const Conflict& conflict) const;
  void forget(Run run);

 private:
  struct Cell {
    uintptr_t end;
    OperationPointer writer;
    std::vector<OperationPointer> readers;
    bool same_uses(const Cell& other) const { return writer == other.writer && readers == other.readers; }
  };
  using Cells = std::map<uintptr_t, Cell>;

  void split(uintptr_t at);
  void add_reader(Run run, const OperationPointer& operation, const VectorClock& now);

  Cells cells_;
};

}  // namespace softnpu::sanitizer
