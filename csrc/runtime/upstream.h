// What a memory pool needs from below: raw memory, its state, and a way to know that a stream got somewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/device_handles.h"

namespace mt::runtime {

using mt::Address;
using mt::EventHandle;
using mt::MappingHandle;
using mt::MemoryInfo;
using mt::StreamHandle;

// Raw memory, or the reason why there is none.
struct RawMemory {
  Address address = 0;  // 0: refused
  size_t size = 0;      // at least what was asked
  std::string error;    // what the driver said when it refused
};

// Memory of the device behind reserved addresses, or the reason why there is none.
struct Mapping {
  MappingHandle handle = 0;  // 0: refused
  std::string error;
};

// Note [Pools never call upstream under their lock]
// An upstream may be slow (a driver call) and may need another lock (Python's). A thread that holds that
// other lock may at the same time want a block. So a pool takes what it needs out of its own state, unlocks,
// calls upstream, and locks again to write the result down. Growing and shrinking are serialised by a second
// lock that cache hits never touch; `wait_for_turn` lets an upstream give up its own lock while it waits
// there.
class Upstream {
 public:
  virtual ~Upstream() = default;

  virtual RawMemory allocate(size_t bytes) = 0;
  virtual void free(Address address) = 0;
  virtual MemoryInfo memory_info() = 0;
  virtual void synchronize() = 0;  // returns when everything enqueued on every stream has finished

  // An event marks the point a stream has reached now. A failing record throws.
  virtual EventHandle record_event(StreamHandle stream) = 0;
  virtual bool event_is_complete(EventHandle event) = 0;
  virtual void release_event(EventHandle event) noexcept = 0;

  // Virtual memory, for segments that grow in place: addresses without memory, and memory put behind them. An
  // upstream that has none reserves nothing (0).
  virtual bool has_virtual_memory() { return false; }
  virtual Address reserve(size_t) { return 0; }
  virtual void unreserve(Address) {}
  virtual Mapping map(Address, size_t) { return {0, "no virtual memory"}; }
  virtual void unmap(Address, MappingHandle) {}

  virtual void wait_for_turn(std::recursive_mutex& turn) { turn.lock(); }
};

}  // namespace mt::runtime
