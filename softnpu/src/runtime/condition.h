// The value that a conditional task of a graph looks at, in device memory.
#pragma once

#include <cstdint>

namespace softnpu {

class Graph;

struct Condition {
  Condition(Graph& of, uint64_t value, bool set_at_begin);
  ~Condition();
  // At the begin of every replay.
  void begin() const {
    if (assign) store(initial);
  }
  uint64_t load() const;
  void store(uint64_t value) const;

  Graph& graph;
  const uint64_t initial;
  const bool assign;
  void* handle = nullptr;
  uint64_t generation = 0;
  void* const address;  // nullptr when the device has no memory left
};

}  // namespace softnpu
