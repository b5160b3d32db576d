// The last collectives and messages of a group: what one looks at when processes wait for each other for ever.
//
// It is always on, so it costs a lock, a clock and a few stores. Whoever begins a work adds an entry, whoever carries it
// out says when that begins and ends; entries that the ring has passed since are no longer written to.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace mt::distributed {

struct FlightTensor {
  std::vector<int64_t> sizes;
  DType dtype;
};

struct FlightEntry {
  int64_t number = 0;                     // 1, 2, … of all works of the group
  int64_t collectives = 0, messages = 0;  // of the group so far, this one included
  bool is_message = false, failed = false;
  std::string engine, name;
  std::vector<FlightTensor> inputs, outputs;
  int64_t created_ns = 0, started_ns = 0, ended_ns = 0;  // since 1970; 0: not yet
  uint32_t stack = 0;                                    // a number for the Python stack; 0: none
};

// How far a group is: numbers of collectives.
struct FlightPosition {
  int64_t created = 0, started = 0, ended = 0;
  std::string name;  // of the last that was created
};

class FlightRing {
 public:
  explicit FlightRing(size_t capacity) : capacity_(capacity) {}

  // Gives the number of the entry. A message between two processes is no collective.
  int64_t add(std::string_view engine, std::string_view name, TensorList inputs, TensorList outputs,
              bool is_message, uint32_t stack);
  void start(int64_t number);
  void end(int64_t number, bool failed);

  std::vector<FlightEntry> entries() const;  // the oldest first
  FlightPosition position() const;
  void clear();  // the numbers go on

 private:
  FlightEntry* find(int64_t number);

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<FlightEntry> entries_;  // number n at (n - 1) % capacity_
  int64_t first_ = 1;                 // the first that was not cleared
  int64_t last_ = 0, collectives_ = 0, messages_ = 0;
  FlightPosition position_;
};

}  // namespace mt::distributed
