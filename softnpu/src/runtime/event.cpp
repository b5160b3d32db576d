#include "runtime/event.h"

#include <signal.h>

#include <cerrno>

#include "runtime/futex.h"
#include "runtime/schedule.h"
#include "runtime/stream.h"

namespace softnpu {
namespace {

constexpr int64_t kSpin = 20'000;
constexpr int64_t kPoll = 5'000'000;  // ns between looks at "should this task give up?"

// Sleeps on `word` until ready() holds. `prepare` says which value to sleep on.
template <class Ready, class Prepare>
bool wait_until(const Ready& ready, const Prepare& prepare, std::atomic<uint32_t>& word, FutexScope scope,
                int64_t timeout_ns) {
  if (spin_until(ready, timeout_ns < 0 ? kSpin : std::min(timeout_ns, kSpin))) return true;
  const int64_t end = timeout_ns < 0 ? INT64_MAX : now_ns() + timeout_ns;
  for (;;) {
    const uint32_t expected = prepare();
    if (ready()) return true;
    const int64_t left = end == INT64_MAX ? kPoll : std::min(end - now_ns(), kPoll);
    if (left <= 0 || task_should_give_up()) return false;
    futex_wait(word, expected, left, scope);
  }
}

}  // namespace

EventTable& event_table() {
  static auto* instance = new EventTable;
  return *instance;
}

bool EventVersion::reached() const {
  if (shared_ != nullptr) return (*shared_)->event.reached.load(std::memory_order_acquire) >= sequence_;
  return state_.load(std::memory_order_acquire) == kReached;
}

void EventVersion::reach() {
  if (shared_ != nullptr) {
    SharedEvent& event = (*shared_)->event;
    uint64_t before = event.reached.load();
    while (before < sequence_ && !event.reached.compare_exchange_weak(before, sequence_)) {}
    event.word.fetch_add(1);
    futex_wake_all(event.word, kBetweenProcesses);
    return;
  }
  time_ns_ = now_ns();
  if (state_.exchange(kReached, std::memory_order_acq_rel) == kPendingWithSleepers) futex_wake_all(state_);
}

bool EventVersion::wait(int64_t timeout_ns) {
  if (!schedule::on()) [[likely]]
    return wait_until_reached(timeout_ns);
  Stream* stream = current_stream();
  if (stream == nullptr) {
    const schedule::Demand demand([this] { return reached(); });
    return wait_until_reached(timeout_ns);
  }
  schedule::stand_still(*stream, this);
  const bool done = wait_until_reached(timeout_ns);
  schedule::move_on(*stream);
  return done;
}

bool EventVersion::wait_until_reached(int64_t timeout_ns) {
  auto ready = [&] { return reached(); };
  if (shared_ == nullptr) {
    auto announce = [&] {
      uint32_t pending = kPending;
      state_.compare_exchange_strong(pending, kPendingWithSleepers);
      return uint32_t(kPendingWithSleepers);
    };
    return wait_until(ready, announce, state_, kBetweenThreads, timeout_ns);
  }
  auto look = [&] {
    const uint32_t word = (*shared_)->event.word.load();
    const pid_t owner = shared_->row().name().pid;
    if (kill(owner, 0) != 0 && errno == ESRCH && !ready())
      throw TaskError(ACL_ERROR_RT_IPC_ERROR,
                      "process " + std::to_string(owner) + ", which shares the event, has ended");
    return word;
  };
  return wait_until(ready, look, (*shared_)->event.word, kBetweenProcesses, timeout_ns);
}

void EventFlag::raise() {
  set.store(1);
  futex_wake_all(set);
}

bool EventFlag::wait(int64_t timeout_ns) {
  return wait_until([&] { return set.load() != 0; }, [] { return 0u; }, set, kBetweenThreads, timeout_ns);
}

std::shared_ptr<EventVersion> Event::version() const {
  if (shared != nullptr) {
    const uint64_t sequence = (*shared)->event.recorded.load();
    return sequence == 0 ? nullptr : std::make_shared<EventVersion>(shared, sequence);
  }
  std::lock_guard lock(mutex_);
  return current_;
}

std::shared_ptr<EventVersion> Event::record(sanitizer::Stamp stamp) {
  if (shared != nullptr)
    return std::make_shared<EventVersion>(shared, (*shared)->event.recorded.fetch_add(1) + 1);
  auto version = std::make_shared<EventVersion>();
  version->stamp = std::move(stamp);
  set_version(version);
  return version;
}

void Event::set_version(std::shared_ptr<EventVersion> version) {
  std::lock_guard lock(mutex_);
  current_.swap(version);
}

}  // namespace softnpu
