// Events are made once and reused: creating one costs more than recording it. An event belongs to its device.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/device_handles.h"
#include "base/error.h"

namespace mt::runtime {

class EventPool {
 public:
  struct Kind {
    int device;
    EventOptions options;
  };

  EventHandle take(const Kind& kind) {  // 0: none is spare
    std::lock_guard guard(mutex_);
    auto& spare = spare_[key(kind)];
    if (spare.empty()) return 0;
    const EventHandle event = spare.back();
    spare.pop_back();
    return event;
  }
  void add(EventHandle event, const Kind& kind) {
    std::lock_guard guard(mutex_);
    kinds_.emplace(event, kind);
  }
  void give(EventHandle event) {
    std::lock_guard guard(mutex_);
    spare_[key(find(event))].push_back(event);
  }
  void forget(EventHandle event) {
    std::lock_guard guard(mutex_);
    kinds_.erase(event);
  }
  Kind kind_of(EventHandle event) {
    std::lock_guard guard(mutex_);
    return find(event);
  }

 private:
  static uint64_t key(const Kind& kind) {
    const EventOptions& o = kind.options;
    return uint64_t(kind.device) << 3 | uint64_t(o.timing) << 2 | uint64_t(o.cross_stream) << 1 |
           uint64_t(o.interprocess);
  }
  const Kind& find(EventHandle event) {
    const auto found = kinds_.find(event);
    MT_CHECK(found != kinds_.end(), "the event ", reinterpret_cast<void*>(event),
             " was not made by this runtime, or it was destroyed");
    return found->second;
  }

  std::mutex mutex_;
  std::unordered_map<uint64_t, std::vector<EventHandle>> spare_;
  std::unordered_map<EventHandle, Kind> kinds_;
};

}  // namespace mt::runtime
