// The device memory that programs hold or held, with what is known about its bytes.
#pragma once

#include <map>
#include <optional>

#include "sanitizer/report.h"
#include "sanitizer/shadow.h"

namespace softnpu::sanitizer {

struct Allocation {
  Allocation(uintptr_t begin, uint64_t asked, uint64_t usable_bytes, OperationPointer made)
      : memory{{begin, begin + asked}, std::move(made), nullptr},
        usable(usable_bytes),
        written(usable_bytes) {}

  Memory memory;
  uint64_t usable;  // with the padding that aclrtMalloc adds
  WrittenBytes written;
  LastUses uses;
  // Pieces an allocator handed out of it; none: it is used as a whole.
  std::map<uintptr_t, Memory> parts;

  void free(OperationPointer by) {
    memory.freed = std::move(by);
    uses = {};
    written = WrittenBytes(usable);
    parts.clear();
  }
  bool live() const { return memory.freed == nullptr; }
  uint64_t offset(uintptr_t address) const { return address - memory.bytes.begin; }
};

// What is wrong with using a range: which memory it hits or misses.
struct AddressDefect {
  Defect defect;
  std::string where;
  Memory memory;
};

class Allocations {
 public:
  void add(uintptr_t begin, uint64_t asked, uint64_t usable, OperationPointer made);
  // The allocation that holds the address, freed ones included; nullptr if it is not known.
  Allocation* find(uintptr_t address);
  // Nothing, if the range may be used.
  std::optional<AddressDefect> examine(Run range);
  void free_all(Run range, const OperationPointer& by);
  void clear() { by_begin_.clear(); }

 private:
  std::map<uintptr_t, Allocation> by_begin_;
};

// An allocator inside `allocation` hands a range out, or takes it back.
void mark_used(Allocation& allocation, Run range, OperationPointer by);
void mark_free(Allocation& allocation, Run range, OperationPointer by);

}  // namespace softnpu::sanitizer
