// Blocks that were given back while streams other than their own may still use them (record_stream).
// One queue per stream: events complete in the order they were recorded, so only the front is ever asked.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "runtime/free_lists.h"
#include "runtime/upstream.h"

namespace mt::runtime {

struct PendingUse {
  EventHandle event;  // 0: the event could not be recorded, only a device synchronisation ends this use
  Block* block;
  StreamHandle stream;
};

class StreamOrder {
 public:
  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }

  void add(PendingUse use) {
    (use.event ? queues_[use.stream] : unmarked_).push_back(use);
    ++count_;
  }
  std::vector<StreamHandle> streams() const {
    std::vector<StreamHandle> result;
    for (const auto& [stream, queue] : queues_)
      if (!queue.empty()) result.push_back(stream);
    return result;
  }
  EventHandle oldest_event(StreamHandle stream) const {
    const auto found = queues_.find(stream);
    return found == queues_.end() || found->second.empty() ? 0 : found->second.front().event;
  }
  Block* remove_oldest(StreamHandle stream) {
    auto& queue = queues_.at(stream);
    Block* block = queue.front().block;
    queue.pop_front();
    if (queue.empty()) queues_.erase(stream);
    --count_;
    return block;
  }
  // Everything, oldest first for each stream; used around a device synchronisation.
  std::vector<PendingUse> take_all() {
    std::vector<PendingUse> result(unmarked_.begin(), unmarked_.end());
    for (const auto& [stream, queue] : queues_) result.insert(result.end(), queue.begin(), queue.end());
    unmarked_.clear();
    queues_.clear();
    count_ = 0;
    return result;
  }
  // The synchronisation failed: as before, ahead of what came in meanwhile.
  void put_back(const std::vector<PendingUse>& uses) {
    for (auto use = uses.rbegin(); use != uses.rend(); ++use)
      (use->event ? queues_[use->stream] : unmarked_).push_front(*use);
    count_ += uses.size();
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const PendingUse& use : unmarked_) visit(use);
    for (const auto& [stream, queue] : queues_)
      for (const PendingUse& use : queue) visit(use);
  }

 private:
  std::map<StreamHandle, std::deque<PendingUse>> queues_;
  std::deque<PendingUse> unmarked_;
  size_t count_ = 0;
};

}  // namespace mt::runtime
