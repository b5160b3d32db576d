// What stands for things of a device: plain integers, so that Python and C++ share them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mt {

using Address = uintptr_t;
using StreamHandle = uintptr_t;   // 0 is the default stream
using EventHandle = uintptr_t;    // 0 is no event
using MappingHandle = uintptr_t;  // 0 is no mapping

inline constexpr int kMaxDevices = 64;  // of one type

struct MemoryInfo {
  size_t free = 0;
  size_t total = 0;
};

struct EventOptions {
  bool timing = false;        // elapsed_ms() will be asked
  bool cross_stream = true;   // a stream will wait on it
  bool interprocess = false;  // another process will
};

}  // namespace mt
