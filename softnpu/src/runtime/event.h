// Events. Recording makes a new version; whoever waits keeps the version it saw.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/capture.h"
#include "runtime/process_exports.h"
#include "runtime/slot_table.h"
#include "sanitizer/clock.h"

namespace softnpu {

// One recording of an event: reached when its stream gets to it.
class EventVersion {
 public:
  EventVersion() = default;
  // Of an event that processes share.
  EventVersion(std::shared_ptr<Borrowed> shared, uint64_t sequence)
      : shared_(std::move(shared)), sequence_(sequence) {}
  // Recorded in a capture: it is never reached, it only says what waits for what.
  EventVersion(std::shared_ptr<Capture> in, Clock at)
      : capture(std::move(in)), seen(std::move(at)), captured(true) {}

  bool reached() const;
  int64_t time_ns() const { return time_ns_; }  // only once reached
  void reach();
  // False when `timeout_ns` passes first, or when the waiting task must give up. Throws TaskError when the
  // process that shares the event is gone.
  bool wait(int64_t timeout_ns);

  const std::weak_ptr<Capture> capture;
  const Clock seen;
  const bool captured = false;
  sanitizer::Stamp stamp;  // what comes before it; set before anybody can see the version

 private:
  bool wait_until_reached(int64_t timeout_ns);

  enum State : uint32_t { kPending, kPendingWithSleepers, kReached };
  std::atomic<uint32_t> state_{kPending};
  int64_t time_ns_ = 0;
  std::shared_ptr<Borrowed> shared_;
  uint64_t sequence_ = 0;
};

// Set and cleared by tasks, in a graph or outside of it (ACL_EVENT_EXTERNAL). It has no versions.
struct EventFlag {
  std::atomic<uint32_t> set{0};
  void raise();
  void lower() { set.store(0); }
  bool wait(int64_t timeout_ns);  // as EventVersion::wait
};

// The function that made an event decides what it can be used for.
enum class EventKind { plain, with_flag, extended };

struct Event {
  Event(uint32_t flag_bits, EventKind made_by) : flags(flag_bits), kind(made_by) {
    if (flags & ACL_EVENT_EXTERNAL) flag = std::make_shared<EventFlag>();
  }

  bool external() const { return flag != nullptr; }
  bool interprocess() const { return (flags & ACL_EVENT_IPC) != 0; }
  // The last recording, or nullptr.
  std::shared_ptr<EventVersion> version() const;
  // A new one, which `reach` of a task is to complete.
  std::shared_ptr<EventVersion> record(sanitizer::Stamp stamp);
  void set_version(std::shared_ptr<EventVersion> version);

  const uint32_t flags;  // ACL_EVENT_...; what the event may be used for
  const EventKind kind;
  uint32_t id = 0;
  std::shared_ptr<EventFlag> flag;   // of an external event
  std::shared_ptr<Borrowed> shared;  // of an event that processes share, from the start
  // Tasks that wait for the event and are not done; tasks own the counter too.
  std::shared_ptr<std::atomic<uint32_t>> waiting = std::make_shared<std::atomic<uint32_t>>(0);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<EventVersion> current_;
};

using EventTable = SlotTable<Event, 65536>;
EventTable& event_table();

}  // namespace softnpu
