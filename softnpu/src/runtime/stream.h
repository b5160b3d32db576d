// A stream: a thread that runs tasks in the order they were handed over.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "acl_abi.h"
#include "runtime/export.h"
#include "runtime/futex.h"
#include "runtime/hook.h"
#include "runtime/repeatable_task.h"
#include "runtime/slot_table.h"
#include "runtime/task_ring.h"

namespace softnpu {

class Capture;
struct Context;
struct Reporter;
struct TaskUpdate;

// Thrown by a task: the code and the message that the next synchronisation of its stream returns.
struct SOFTNPU_SHARED TaskError : std::runtime_error {
  TaskError(int error_code, const std::string& message) : std::runtime_error(message), code(error_code) {}
  int code;
};

class SOFTNPU_SHARED Stream {
 public:
  // Starts its thread and lives until stop(). nullptr when the system has no thread left.
  static Stream* start(Context& owner, int device_id, uint32_t priority_value, uint32_t flag_bits);

  // Hands a task over and returns its ticket; 0 when the stream is captured, so that it runs only later.
  // Closures of tasks that can be captured must be good for more than one call.
  template <class Closure>
  uint64_t submit(const char* name, Task::Kind kind, Closure closure) {
    if (recording_.load(std::memory_order_acquire)) [[unlikely]] {
      std::shared_ptr<RepeatableTask> task = std::make_shared<HeldTask<Closure>>(std::move(closure));
      if (record(name, kind, task)) return 0;
      return enqueue(name, kind, [task = std::move(task)] { task->run(); });
    }
    return enqueue(name, kind, std::move(closure));
  }

  // The same whether it is captured or not. Waits while the ring is full, as a card's task queue does.
  template <class Closure>
  uint64_t enqueue(const char* name, Task::Kind kind, Closure closure) {
    uint64_t ticket;
    while (!ring_.try_push(name, kind, closure, &ticket)) wait_for_space();
    if (consumer_.load(std::memory_order_seq_cst) != kAwake) [[unlikely]]
      rouse();
    return ticket;
  }

  // Waits until `ticket` tasks are done; false when `timeout_ns` passes first.
  bool wait(uint64_t ticket, int64_t timeout_ns = kForever) {
    if (hooked(kSanitize | kSchedule)) [[unlikely]]
      return wait_watched(ticket, timeout_ns);
    return wait_until_done(ticket, timeout_ns);
  }
  bool wait_for_all(int64_t timeout_ns = kForever) { return wait(ring_.pushed(), timeout_ns); }
  bool idle() const { return completed_.load(std::memory_order_acquire) >= ring_.pushed(); }

  // The first error since the last call: its code (0 if none), with the message recorded for this thread.
  int take_error();

  // Ends the thread and the stream: *this is gone afterwards. `drop` discards tasks that have not started.
  void stop(bool drop);
  void set_gate(bool closed);
  bool is_own_thread() const;

  // Discards what has been handed over so far, whatever waits in it gives up, and keeps `code` as the error.
  // Returns the ticket of the last task discarded.
  uint64_t abort(int code, const char* reason);
  // Whether the task that runs now has been discarded meanwhile.
  bool dropping() const;

  // Runs a task, in the stream's thread: what it throws becomes the stream's error.
  void perform(const char* name, Task::Kind kind, bool execute, void (*invoke)(void*, bool), void* payload);

  // What remembers modes that have no meaning in software, and the one that has: stop at the first failure.
  std::atomic<uint64_t> failure_mode{0};
  std::atomic<uint32_t> overflow_switch{0};
  std::atomic<uint32_t> custom_tag{0};
  std::atomic<uint32_t> cache_op_info{0};
  std::atomic<uint32_t> core_limits[2] = {0, 0};  // by aclrtDevResLimitType; 0: that of the device

  // Whether tasks are recorded instead of run; see capture.h.
  bool recording() const { return recording_.load(std::memory_order_acquire); }
  void set_recording(bool on) { recording_.store(on, std::memory_order_release); }

  Context& context;
  const int device;
  const int32_t id;
  const uint32_t priority;
  const uint32_t flags;
  // Who runs the callbacks of aclrtLaunchCallback; guarded by callback.cpp's lock.
  Reporter* reporter = nullptr;
  // What records the tasks; guarded by capture_mutex().
  std::shared_ptr<Capture> capture;
  std::shared_ptr<TaskUpdate> update;

 private:
  Stream(Context& owner, int device_id, uint32_t priority_value, uint32_t flag_bits);

  enum ConsumerState : uint32_t { kAwake, kAsleep };

  // False when nothing records any more.
  bool record(const char* name, Task::Kind kind, std::shared_ptr<RepeatableTask>& task);
  void wait_for_space();
  bool wait_until_done(uint64_t ticket, int64_t timeout_ns);
  bool wait_watched(uint64_t ticket, int64_t timeout_ns);
  void rouse();
  void run();
  bool sleep_until_task();
  bool look_for_task();
  void execute(Task& task);
  void keep_error(int code, const char* name, const char* what);
  void finish_one();

  TaskRing ring_;
  std::atomic<uint32_t> consumer_{kAwake};
  std::atomic<uint32_t> gate_closed_{0};
  std::atomic<uint32_t> stopping_{0};  // 1 = after the queue is empty, 2 = now
  std::atomic<uint32_t> ended_{0};
  std::atomic<bool> recording_{false};
  std::atomic<uint64_t> aborted_{0};  // tasks up to this ticket are discarded
  alignas(64) std::atomic<uint64_t> completed_{0};
  std::atomic<uint64_t> wait_target_{~uint64_t(0)};  // the nearest ticket somebody sleeps for
  std::atomic<uint32_t> wake_word_{0};
  std::atomic<uint32_t> waiting_{0};  // threads inside wait()
  std::mutex error_mutex_;
  int error_code_ = 0;
  std::string error_message_;
};

using StreamTable = SlotTable<Stream, 2048>;
SOFTNPU_SHARED StreamTable& stream_table();

// The stream whose thread this is, nullptr on a thread of the program.
Stream* current_stream();

// For blocking waits inside tasks: true once the stream must end or the process is exiting.
SOFTNPU_SHARED bool task_should_give_up();

// Calls `visit` for every stream of a device; one that ends meanwhile stays valid during its visit. False,
// visiting none, when called by a task of one of them: it would wait for itself.
bool for_each_stream(int device, const std::function<void(Stream&)>& visit);

// Closes or opens the gate of streams yet to be created and of all that exist.
void set_gate_of_all(bool closed);

// Stops all stream threads from starting tasks and waits briefly for those that run. Called at process exit.
void park_all_streams();

}  // namespace softnpu
