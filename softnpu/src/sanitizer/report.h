// What the sanitizer tells: readable text on stderr, and a JSON line in the log.
#pragma once

#include <cstdio>
#include <set>
#include <string>

#include "sanitizer/shadow.h"

namespace softnpu::sanitizer {

enum class Defect { use_after_free, out_of_bounds, uninitialised, race };

// Memory as the program asked for it: by aclrtMalloc, or from an allocator that says so (softnpu_mark_used).
struct Memory {
  Run bytes{0, 0};
  OperationPointer made, freed;  // empty: unknown, not freed
};

struct Report {
  Defect defect;
  std::string sentence;        // what happened, with names and numbers
  std::string advice;          // what to do about it; may be empty
  Run bytes;                   // the memory it is about
  Memory memory;               // that holds it, or lies before it; may be unknown
  OperationPointer operation;  // that was seen doing it
  const char* argument = nullptr;
  bool wrote = false;
  OperationPointer other;  // the other side of a race, or the use that a free did not wait for
  bool other_wrote = false;
};

// Guarded by the sanitizer's lock.
class Reporter {
 public:
  // False if the file cannot be opened; nullptr closes.
  bool log_to(const char* path);
  // Repetitions (the same operations on the same streams) are told once.
  void tell(const Report& report);
  uint64_t count() const { return count_; }
  void reset();

 private:
  std::FILE* log_ = nullptr;
  uint64_t count_ = 0;
  std::set<std::string> told_;
};

}  // namespace softnpu::sanitizer
