// Where the host program is, for messages about work that fails later. The bindings install the functions; core knows
// no Python.
#pragma once

#include <functional>
#include <string>

namespace mt {

// A code object of Python, which the position keeps alive, and the instruction in it.
struct HostPosition {
  void* code = nullptr;
  int instruction = 0;
};

struct HostPositions {
  HostPosition (*now)() = nullptr;              // none on a thread that does not hold Python's lock
  void (*drop)(const HostPosition&) = nullptr;  // with the lock, as the next
  std::string (*describe)(const HostPosition&) = nullptr;
  void (*with_lock)(const std::function<void()>&) = nullptr;  // runs it with the lock
};
extern HostPositions g_host_positions;

}  // namespace mt
