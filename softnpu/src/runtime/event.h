// Events. Recording makes a new version; whoever waits keeps the version it saw.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/slot_table.h"
#include "sanitizer/clock.h"

namespace softnpu {

// One recording of an event: reached when its stream gets to it.
class EventVersion {
 public:
  bool reached() const { return state_.load(std::memory_order_acquire) == kReached; }
  int64_t time_ns() const { return time_ns_; }  // only once reached
  void reach();
  // False when `timeout_ns` passes first, or when the waiting task must give up.
  bool wait(int64_t timeout_ns);

  sanitizer::Stamp stamp;  // what comes before it; set before anybody can see the version

 private:
  bool wait_until_reached(int64_t timeout_ns);

  enum State : uint32_t { kPending, kPendingWithSleepers, kReached };
  std::atomic<uint32_t> state_{kPending};
  int64_t time_ns_ = 0;
};

struct Event {
  explicit Event(uint32_t flag_bits, bool extended_kind) : flags(flag_bits), extended(extended_kind) {}

  std::shared_ptr<EventVersion> version() const {
    std::lock_guard lock(mutex);
    return current;
  }

  const uint32_t flags;  // ACL_EVENT_...; what the event may be used for
  const bool extended;   // from aclrtCreateEventExWithFlag
  uint32_t id = 0;
  mutable std::mutex mutex;
  std::shared_ptr<EventVersion> current;  // empty until the first recording
};

using EventTable = SlotTable<Event, 65536>;
EventTable& event_table();

}  // namespace softnpu
