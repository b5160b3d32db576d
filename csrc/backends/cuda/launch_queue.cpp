#include "backends/cuda/launch_queue.h"

#include <pthread.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "backends/cuda/cuda_driver.h"
#include "backends/cuda/rehearsal.h"
#include "base/awake.h"
#include "base/error.h"
#include "core/observe.h"
#include "devices/device_graph.h"
#include "kernels/common/processors.h"

namespace mt::cuda {
namespace {

using namespace std::chrono_literals;
using runtime::SpinGuard;

constexpr auto kPatience = 1ms;    // awake without work
constexpr int64_t kSoon = 50'000;  // ns: who launches again within this time wakes the thread
constexpr int kFewProcessors = 4;

bool wanted() {
  const char* text = std::getenv("MINDTORCH_CUDA_QUEUE");
  const std::string_view asked = text ? text : "";
  MT_CHECK_AS(value, asked.empty() || asked == "on" || asked == "off",
              "MINDTORCH_CUDA_QUEUE is on or off, got '", std::string(asked), "'");
  if (rehearsing() || asked == "off") return false;
  return asked == "on" || kernels::usable_processors() >= kFewProcessors;
}

int64_t now() {
  using namespace std::chrono;
  return int64_t(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

}  // namespace

static std::array<LaunchQueue, kMaxDevices>& launch_queues() {
  static auto* made =
      new std::array<LaunchQueue, kMaxDevices>;  // for ever: a thread may look while the process ends
  return *made;
}

LaunchQueue& launch_queue(int device) { return launch_queues()[size_t(device)]; }

void wait_for_launch_queues() noexcept {
  for (LaunchQueue& queue : launch_queues()) queue.wait();
}

void turn_off_launch_queues() noexcept {
  for (LaunchQueue& queue : launch_queues()) queue.turn_off();
}

int LaunchQueue::device() const { return int(this - launch_queues().data()); }

// ---- who gives work ----

bool LaunchQueue::takes_work() {
  if (state_.load(std::memory_order_acquire) == State::unstarted) [[unlikely]]
    start();
  return state_.load(std::memory_order_acquire) != State::off && !observer() &&
         !devices::DeviceGraph::any_is_captured() && !gpu().launch_blocking();
}

void* LaunchQueue::claim(Run run, size_t bytes) {
  if (!takes_work()) [[unlikely]]
    return nullptr;
  if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
    raise_kept();
  bytes = (sizeof(Entry) + bytes + kLine - 1) / kLine * kLine;
  lock_.lock();
  if (const State state = state_.load(std::memory_order_relaxed); state != State::awake) [[unlikely]] {
    lock_.unlock();
    if (state == State::asleep) wake();
    return nullptr;
  }
  const uint64_t left = kBytes - claimed_ % kBytes;
  const uint64_t at = bytes <= left ? claimed_ : claimed_ + left;
  if (at + bytes > room_until_) wait_for_room(at + bytes);
  if (at != claimed_) entry(claimed_) = {left, nullptr};
  claimed_ = at + bytes;
  Entry& made = entry(at);
  made = {bytes, run};
  return &made + 1;
}

void LaunchQueue::publish() {
  given_.store(claimed_, std::memory_order_release);
  lock_.unlock();
}

// The device is thousands of launches behind.
void LaunchQueue::wait_for_room(uint64_t until) {
  const auto has_room = [&] {
    room_until_ = done_.load(std::memory_order_acquire) + kBytes;
    return until <= room_until_;
  };
  while (!look_out_for(kPatience, has_room)) std::this_thread::sleep_for(kPatience);
}

// The ring is empty while the thread sleeps, so what the caller does itself comes in its place.
void LaunchQueue::wake() {
  const int64_t time = now();
  if (time - last_alone_.exchange(time, std::memory_order_relaxed) > kSoon) return;
  if (wake_.exchange(1, std::memory_order_release) == 0) wake_.notify_one();
}

void LaunchQueue::wait_slowly() noexcept {
  const uint64_t until = given_.load(std::memory_order_acquire);
  const auto is_done = [&] { return done_.load(std::memory_order_acquire) >= until; };
  while (!look_out_for(kPatience, is_done)) std::this_thread::yield();
}

void LaunchQueue::raise_kept() {
  Outcome outcome;
  {
    const SpinGuard guard(failure_lock_);
    outcome = std::exchange(failure_, {});
    failed_.store(false, std::memory_order_release);
  }
  if (outcome.code != 0) outcome.raise(outcome.code, outcome.what);
}

// ---- the thread ----

void LaunchQueue::start() {
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  if (state_.load(std::memory_order_acquire) != State::unstarted) return;
  if (!wanted()) return state_.store(State::off, std::memory_order_release);
  static const bool first = [] {
    pthread_atfork(nullptr, nullptr, forget_threads);
    // After the driver was loaded, so before it ends.
    return std::atexit([] { turn_off_launch_queues(); }) == 0;
  }();
  (void)first;
  ring_.reset(static_cast<char*>(::operator new[](kBytes, std::align_val_t(kLine))));
  const SpinGuard until_it_is_awake(lock_);  // it may want to sleep before this thread goes on
  thread_lives_.store(true);
  try {
    std::thread([this] { work(); }).detach();
    state_.store(State::awake, std::memory_order_release);
  } catch (const std::system_error&) {  // there are too many threads
    thread_lives_.store(false);
    state_.store(State::off, std::memory_order_release);
  }
}

void LaunchQueue::turn_off() noexcept {
  {
    const SpinGuard guard(lock_);
    if (state_.exchange(State::off) == State::unstarted) return;
  }
  wake_.store(1, std::memory_order_release);
  wake_.notify_one();
  while (thread_lives_.load(std::memory_order_acquire)) std::this_thread::yield();  // it does what is left
}

// In the child of a fork: the threads stayed with the parent, and so did whoever had a lock.
void LaunchQueue::forget_threads() noexcept {
  for (LaunchQueue& queue : launch_queues()) {
    new (&queue.lock_) runtime::SpinLock;
    queue.state_.store(State::off);
    queue.thread_lives_.store(false);
    queue.done_.store(queue.given_.load());
  }
}

void LaunchQueue::work() {
  try {
    gpu().activate(device());
  } catch (const DeviceError& error) { keep({error.code(), "cuCtxSetCurrent", fail_cuda}); }
  uint64_t at = 0;
  const auto has_work = [&] { return given_.load(std::memory_order_acquire) != at; };
  do {
    while (has_work()) at = do_next(at);
  } while (look_out_for(kPatience, has_work) || sleep(at));
  thread_lives_.store(false, std::memory_order_release);
}

uint64_t LaunchQueue::do_next(uint64_t at) {
  const Entry& next = entry(at);
  if (next.run)
    if (const Outcome outcome = next.run(&next + 1); outcome.code != 0) [[unlikely]]
      keep(outcome);
  at += next.bytes;
  done_.store(at, std::memory_order_release);
  return at;
}

void LaunchQueue::keep(const Outcome& outcome) {
  const SpinGuard guard(failure_lock_);
  if (failure_.code == 0) failure_ = outcome;
  failed_.store(true, std::memory_order_release);
}

// Until somebody launches, unless somebody does already. False: the queue was turned off.
bool LaunchQueue::sleep(uint64_t at) {
  {
    // Who has the lock gives work, and may wait for room with it: not for a thread that waits for the lock.
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard || given_.load(std::memory_order_relaxed) != at) return true;
    if (state_.load(std::memory_order_relaxed) == State::off) return false;
    state_.store(State::asleep, std::memory_order_relaxed);
  }
  wake_.wait(0);
  wake_.store(0, std::memory_order_relaxed);
  const SpinGuard guard(lock_);
  if (state_.load(std::memory_order_relaxed) == State::off) return false;
  state_.store(State::awake, std::memory_order_release);
  return true;
}

}  // namespace mt::cuda
