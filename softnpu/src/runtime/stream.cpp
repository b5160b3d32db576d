#include "runtime/stream.h"

#include <pthread.h>

#include <chrono>
#include <map>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/config.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "runtime/schedule.h"
#include "sanitizer/sanitizer.h"

namespace softnpu {
namespace {

constexpr int64_t kSpinForTask = 30'000;    // ns an idle stream spins before it sleeps: a wake-up costs more
constexpr int64_t kBetweenLooks = 2'000;    // ns an idle stream lets pass before it looks for a task again
constexpr int64_t kSpinForResult = 10'000;  // ns a synchronisation spins before it sleeps
constexpr int64_t kPoll = 5'000'000;        // ns between looks at "should this end?" while blocked

std::atomic<bool> process_exiting{false};
std::atomic<uint32_t> all_gates_closed{0};
// A cache line of its own: every task is counted, and a launch reads what lies around.
struct alignas(64) RunningTasks {
  std::atomic<uint32_t> count{0};
} running_tasks;
std::atomic<int32_t> next_stream_id{0};

thread_local Stream* own_stream = nullptr;

struct LiveStreams {
  std::mutex mutex;
  // Shared, so that a synchronisation of the device can hold on to a stream that another thread destroys.
  std::map<Stream*, std::shared_ptr<Stream>> streams;
};
LiveStreams& live_streams() {
  static auto* instance = new LiveStreams;
  return *instance;
}

void park_forever() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

StreamTable& stream_table() {
  static auto* instance = new StreamTable;
  return *instance;
}

Stream* current_stream() { return own_stream; }

bool task_should_give_up() {
  return process_exiting.load(std::memory_order_relaxed) || (own_stream != nullptr && own_stream->dropping());
}

void set_gate_of_all(bool closed) {
  std::lock_guard lock(live_streams().mutex);
  all_gates_closed.store(closed);
  for (const auto& [stream, owner] : live_streams().streams) stream->set_gate(closed);
}

void park_all_streams() {
  process_exiting.store(true);
  // A kernel must not run while the process destroys its statics. A host callback may never return: do not
  // wait for ever.
  const int64_t end = now_ns() + 1'000'000'000;
  while (running_tasks.count.load() != 0 && now_ns() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

bool for_each_stream(int device, const std::function<void(Stream&)>& visit) {
  if (own_stream != nullptr && own_stream->device == device) return false;
  std::vector<std::shared_ptr<Stream>> streams;
  {
    std::lock_guard lock(live_streams().mutex);
    for (const auto& [stream, owner] : live_streams().streams)
      if (stream->device == device) streams.push_back(owner);
  }
  for (const auto& stream : streams) visit(*stream);
  return true;
}

Stream::Stream(Context& owner, int device_id, uint32_t priority_value, uint32_t flag_bits)
    : context(owner),
      device(device_id),
      id(next_stream_id.fetch_add(1)),
      priority(priority_value),
      flags(flag_bits) {}

Stream* Stream::start(Context& owner, int device_id, uint32_t priority_value, uint32_t flag_bits) {
  std::shared_ptr<Stream> stream(new Stream(owner, device_id, priority_value, flag_bits));
  std::lock_guard lock(live_streams().mutex);
  stream->gate_closed_.store(all_gates_closed.load());
  schedule::add(*stream);
  try {
    std::thread([raw = stream.get()] { raw->run(); }).detach();
  } catch (const std::system_error&) {
    schedule::remove(*stream);
    return nullptr;
  }
  live_streams().streams.emplace(stream.get(), stream);
  return stream.get();
}

bool Stream::is_own_thread() const { return own_stream == this; }

void Stream::wait_for_space() {
  const schedule::Demand demand(
      [this] { return ring_.pushed() - completed_.load(std::memory_order_acquire) < TaskRing::kSlots; });
  std::this_thread::sleep_for(std::chrono::microseconds(20));
}

void Stream::rouse() {
  consumer_.store(kAwake);
  futex_wake_all(consumer_);
}

void Stream::set_gate(bool closed) {
  gate_closed_.store(closed);
  if (!closed) futex_wake_all(gate_closed_);
}

void Stream::run() {
  own_stream = this;
  pthread_setname_np(pthread_self(), ("npu-stream-" + std::to_string(id)).substr(0, 15).c_str());
  while (sleep_until_task()) {
    const bool scheduled = schedule::on();
    if (scheduled && gate_closed_.load() != 0) schedule::stand_still(*this, nullptr);
    while (gate_closed_.load() != 0 && !task_should_give_up()) futex_wait(gate_closed_, 1, kPoll);
    if (scheduled) schedule::move_on(*this);
    if (scheduled && ring_.front().kind == Task::Kind::work) schedule::wait_for_turn(*this);
    execute(ring_.front());
    finish_one();
    if (scheduled) schedule::finished(*this);
  }
  // Nothing of *this may be touched after this store: stop() destroys it.
  ended_.store(1);
  futex_wake_all(ended_);
}

// Looking at a slot takes its line away from the core that is about to fill it, so an idle stream looks seldom
// and finds several tasks then, unless somebody waits for it. False when there is none for a while.
bool Stream::look_for_task() {
  int64_t now = now_ns();
  const int64_t end = now + kSpinForTask;
  for (;;) {
    if (ring_.has_task() || stopping_.load(std::memory_order_relaxed) != 0) return true;
    if (now >= end) return false;
    const int64_t look = now + kBetweenLooks;
    do {
      cpu_relax();
      now = now_ns();
    } while (now < look && waiting_.load(std::memory_order_relaxed) == 0);
  }
}

// False when the stream is to end and nothing is left to do.
bool Stream::sleep_until_task() {
  for (;;) {
    if (process_exiting.load(std::memory_order_relaxed)) park_forever();
    if (look_for_task()) return ring_.has_task();
    consumer_.store(kAsleep, std::memory_order_seq_cst);
    if (ring_.has_task() || stopping_.load() != 0) {
      consumer_.store(kAwake);
      continue;
    }
    while (consumer_.load() == kAsleep) futex_wait(consumer_, kAsleep);
  }
}

void Stream::execute(Task& task) {
  running_tasks.count.fetch_add(1);
  if (process_exiting.load()) {
    running_tasks.count.fetch_sub(1);
    park_forever();
  }
  const bool stopped = context.stopped_by.load(std::memory_order_relaxed) != 0;
  perform(task.name, task.kind, !stopped && !dropping(), task.invoke, task.payload);
  running_tasks.count.fetch_sub(1);
}

void Stream::perform(const char* name, Task::Kind kind, bool execute, void (*invoke)(void*, bool),
                     void* payload) {
  try {
    if (kind == Task::Kind::work && execute) {
      const uint32_t delay = config().delay_us.load(std::memory_order_relaxed);
      if (delay != 0) std::this_thread::sleep_for(std::chrono::microseconds(delay));
      if (const int code = hooked(kFaults) ? on_task(name) : 0; code != 0) {
        invoke(payload, false);
        throw TaskError(code, "failed on request (softnpu_fail or SOFTNPU_FAIL)");
      }
    }
    invoke(payload, execute);
  } catch (const TaskError& error) {
    keep_error(error.code, name, error.what());
  } catch (const std::exception& error) {
    keep_error(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, name, error.what());
  }
}

bool Stream::dropping() const {
  return stopping_.load(std::memory_order_relaxed) == 2 ||
         completed_.load(std::memory_order_relaxed) < aborted_.load(std::memory_order_relaxed);
}

uint64_t Stream::abort(int code, const char* reason) {
  const uint64_t last = ring_.pushed();
  {
    std::lock_guard lock(error_mutex_);  // errors of what is discarded do not matter any more
    error_code_ = code;
    error_message_ = std::string(reason) + ": the tasks of device " + std::to_string(device) + ", stream " +
                     std::to_string(id) + " were discarded";
  }
  uint64_t before = aborted_.load();
  while (before < last && !aborted_.compare_exchange_weak(before, last)) {}
  return last;
}

void Stream::keep_error(int code, const char* name, const char* what) {
  std::lock_guard lock(error_mutex_);
  if (error_code_ != 0) return;  // the first one explains the rest
  error_code_ = code;
  if (context.stops_on_failure.load()) context.stopped_by.store(code);
  error_message_ = std::string(name) + " failed on device " + std::to_string(device) + ", stream " +
                   std::to_string(id) + ": " + what;
}

int Stream::take_error() {
  std::lock_guard lock(error_mutex_);
  const int stopped = context.stopped_by.load();
  if (stopped != 0)
    return error_code_ != 0 ? record_failure(error_code_, error_message_)
                            : fail(stopped, "stream ", id, " of device ", device,
                                   " stopped: a task of its context failed (aclrtSetStreamFailureMode)");
  const int code = std::exchange(error_code_, 0);
  return code == 0 ? 0 : record_failure(code, std::exchange(error_message_, {}));
}

void Stream::finish_one() {
  ring_.pop();
  const uint64_t done = ring_.consumed();
  completed_.store(done, std::memory_order_seq_cst);
  if (done >= wait_target_.load(std::memory_order_seq_cst)) [[unlikely]] {
    // Waiters with a later ticket register again; see wait().
    wait_target_.store(~uint64_t(0));
    wake_word_.fetch_add(1);
    futex_wake_all(wake_word_);
  }
}

bool Stream::wait_watched(uint64_t ticket, int64_t timeout_ns) {
  const sanitizer::Stamp seen = sanitizer::on() ? sanitizer::stamp(*this) : nullptr;
  const schedule::Demand demand([&] { return completed_.load(std::memory_order_acquire) >= ticket; });
  if (!wait_until_done(ticket, timeout_ns)) return false;
  sanitizer::host_reached(seen);
  return true;
}

bool Stream::wait_until_done(uint64_t ticket, int64_t timeout_ns) {
  auto done = [&] { return completed_.load(std::memory_order_seq_cst) >= ticket; };
  if (done()) return true;
  struct Waiting {
    std::atomic<uint32_t>& count;
    explicit Waiting(std::atomic<uint32_t>& waiting) : count(waiting) { ++count; }
    ~Waiting() { --count; }
  } waiting(waiting_);
  const int64_t end = timeout_ns < 0 ? INT64_MAX : now_ns() + timeout_ns;
  if (spin_until(done, timeout_ns < 0 ? kSpinForResult : std::min(timeout_ns, kSpinForResult))) return true;
  for (;;) {
    // The word is read before the target is set: if the consumer resets the target in between, the word has
    // changed and the sleep returns at once.
    const uint32_t word = wake_word_.load();
    uint64_t target = wait_target_.load();
    while (target > ticket && !wait_target_.compare_exchange_weak(target, ticket)) {}
    if (done()) return true;
    const int64_t left = end == INT64_MAX ? kForever : end - now_ns();
    if (end != INT64_MAX && left <= 0) return false;
    futex_wait(wake_word_, word, left);
  }
}

void Stream::stop(bool drop) {
  stopping_.store(drop ? 2 : 1);
  if (drop) set_gate(false);
  if (consumer_.load() == kAsleep) rouse();
  {
    const schedule::Demand demand([this] { return ended_.load() != 0; });
    while (ended_.load() == 0) futex_wait(ended_, 0);
  }
  schedule::remove(*this);
  if (sanitizer::on()) [[unlikely]]
    sanitizer::stream_ended(*this);
  std::lock_guard lock(live_streams().mutex);
  live_streams().streams.erase(this);
}

}  // namespace softnpu
