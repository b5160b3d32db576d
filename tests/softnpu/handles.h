// Streams and events that end with their scope, and a log that tasks write.
#pragma once

#include <vector>

#include "check.h"

struct StreamHandle {
  StreamHandle() { OK(aclrtCreateStream(&handle)); }
  ~StreamHandle() {
    if (handle != nullptr) aclrtDestroyStreamForce(handle);
  }
  operator aclrtStream() const { return handle; }
  aclrtStream handle = nullptr;
};

struct EventHandle {
  EventHandle() { OK(aclrtCreateEvent(&handle)); }
  ~EventHandle() { aclrtDestroyEvent(handle); }
  operator aclrtEvent() const { return handle; }
  aclrtEvent handle = nullptr;
};

inline bool done(aclrtStream stream) {
  aclrtStreamStatus status;
  OK(aclrtStreamQuery(stream, &status));
  return status == ACL_STREAM_STATUS_COMPLETE;
}

inline bool reached(aclrtEvent event) {
  aclrtEventRecordedStatus status;
  OK(aclrtQueryEventStatus(event, &status));
  return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

// Appends to a log from within a stream.
struct Step {
  std::vector<int>* log;
  int number;
};
inline void append(void* step) {
  auto* s = static_cast<Step*>(step);
  s->log->push_back(s->number);
}
