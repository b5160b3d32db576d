// The streams that were made here: a few per device and priority, given out in turn, and never destroyed, so that a
// handle stays valid. And which device each belongs to.
#pragma once

#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/device_handles.h"

namespace mt::runtime {

class StreamPool {
 public:
  static constexpr size_t kStreams = 32;

  template <class Create>
  StreamHandle take(int device, int priority, const Create& create) {
    std::lock_guard guard(mutex_);
    Turn& turn = turns_[{device, priority}];
    if (turn.streams.size() == kStreams) return turn.streams[turn.next++ % kStreams];
    turn.streams.push_back(create());
    devices_[turn.streams.back()] = device;
    return turn.streams.back();
  }
  StreamHandle keep(int device, StreamHandle stream) {
    std::lock_guard guard(mutex_);
    devices_[stream] = device;
    return stream;
  }
  int device_of(StreamHandle stream, int otherwise) {
    std::lock_guard guard(mutex_);
    const auto found = devices_.find(stream);
    return found == devices_.end() ? otherwise : found->second;
  }

 private:
  struct Turn {
    std::vector<StreamHandle> streams;
    size_t next = 0;
  };
  std::mutex mutex_;
  std::map<std::pair<int, int>, Turn> turns_;
  std::unordered_map<StreamHandle, int> devices_;
};

}  // namespace mt::runtime
