#include "devices/failure_watch.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace mt::devices {
namespace {

struct Watches {
  std::atomic<size_t> count{0};
  std::mutex mutex;
  std::vector<FailureWatch*> all;
};
Watches& watches() {
  static auto* instance = new Watches;
  return *instance;
}

}  // namespace

FailureWatch::FailureWatch(int device, std::function<void(bool)> check)
    : device_(device), check_(std::move(check)) {
  Watches& there = watches();
  std::lock_guard guard(there.mutex);
  there.all.push_back(this);
  there.count = there.all.size();
}

FailureWatch::~FailureWatch() {
  Watches& there = watches();
  std::lock_guard guard(there.mutex);
  std::erase(there.all, this);
  there.count = there.all.size();
}

void check_failures(int device, bool told) {
  Watches& there = watches();
  if (there.count.load(std::memory_order_acquire) == 0) [[likely]]
    return;
  std::lock_guard guard(there.mutex);
  for (const FailureWatch* watch : there.all)
    if (watch->device_ == device) watch->check_(told);
}

}  // namespace mt::devices
