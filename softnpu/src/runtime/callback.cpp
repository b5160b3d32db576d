// Host functions in a stream. aclrtLaunchHostFunc runs on the stream's thread. aclrtLaunchCallback hands the
// function to the thread that subscribed to the stream and runs it when that thread calls aclrtProcessReport.
#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>

#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "runtime/schedule.h"
#include "sanitizer/sanitizer.h"

namespace softnpu {

struct Callback {
  aclrtCallback function;
  void* argument;
  std::shared_ptr<std::atomic<uint32_t>> done;  // set when the stream waits for it
  sanitizer::Stamp before;
};

// The queue of one subscribed thread. Never freed: a task may still point to it.
struct Reporter {
  int streams = 0;
  std::deque<Callback> callbacks;
};

namespace {

std::mutex reporters_mutex;
std::condition_variable callback_added;
std::map<uint64_t, Reporter*>& reporters() {
  static auto* instance = new std::map<uint64_t, Reporter*>;
  return *instance;
}

void deliver(Reporter* reporter, const Callback& callback) {
  if (callback.done != nullptr) callback.done->store(0);  // a captured one is delivered again
  {
    std::lock_guard lock(reporters_mutex);
    reporter->callbacks.push_back(callback);
  }
  callback_added.notify_all();
  if (callback.done == nullptr) return;
  while (callback.done->load() == 0 && !task_should_give_up()) futex_wait(*callback.done, 0, 5'000'000);
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  SOFTNPU_ENTER(aclrtLaunchHostFunc, stream, args);
  if (fn == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtLaunchHostFunc: fn is NULL");
  int code = 0;
  Stream* found = use_stream("aclrtLaunchHostFunc", stream, &code);
  if (found == nullptr) return code;
  sanitizer::Stamp before = sanitizer::on() ? sanitizer::stamp(*found) : nullptr;
  found->submit("aclrtLaunchHostFunc", Task::Kind::order, [fn, args, before = std::move(before)] {
    fn(args);
    sanitizer::host_reached(before);
  });
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtLaunchCallback(aclrtCallback fn, void* userData,
                                            aclrtCallbackBlockType blockType, aclrtStream stream) {
  SOFTNPU_ENTER(aclrtLaunchCallback, userData, blockType, stream);
  if (fn == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtLaunchCallback: fn is NULL");
  int code = 0;
  Stream* found = use_stream("aclrtLaunchCallback", stream, &code);
  if (found == nullptr) return code;
  Reporter* reporter;
  {
    std::lock_guard lock(reporters_mutex);
    reporter = found->reporter;
  }
  if (reporter == nullptr)
    return fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "aclrtLaunchCallback: no thread is subscribed to stream ",
                found->id, "; call aclrtSubscribeReport first");
  Callback callback{fn, userData, nullptr, sanitizer::on() ? sanitizer::stamp(*found) : nullptr};
  if (blockType == ACL_CALLBACK_BLOCK) callback.done = std::make_shared<std::atomic<uint32_t>>(0);
  found->submit("aclrtLaunchCallback", Task::Kind::order,
                [reporter, callback = std::move(callback)] { deliver(reporter, callback); });
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  SOFTNPU_ENTER(aclrtSubscribeReport, threadId, stream);
  int code = 0;
  Stream* found = use_stream("aclrtSubscribeReport", stream, &code);
  if (found == nullptr) return code;
  std::lock_guard lock(reporters_mutex);
  if (found->reporter != nullptr)
    return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "aclrtSubscribeReport: stream ", found->id,
                " has a subscribed thread already");
  Reporter*& reporter = reporters()[threadId];
  if (reporter == nullptr) reporter = new Reporter;
  ++reporter->streams;
  found->reporter = reporter;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  SOFTNPU_ENTER_CLEANUP(aclrtUnSubscribeReport, threadId, stream);
  int code = 0;
  Stream* found = use_stream("aclrtUnSubscribeReport", stream, &code);
  if (found == nullptr) return code;
  std::lock_guard lock(reporters_mutex);
  const auto reporter = reporters().find(threadId);
  if (reporter == reporters().end() || found->reporter != reporter->second)
    return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "aclrtUnSubscribeReport: thread ", threadId,
                " is not subscribed to stream ", found->id);
  --reporter->second->streams;
  found->reporter = nullptr;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtProcessReport(int32_t timeout) {
  SOFTNPU_ENTER(aclrtProcessReport, timeout);
  if (timeout < -1)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtProcessReport: timeout is ", timeout,
                ", wanted milliseconds or -1");
  std::unique_lock lock(reporters_mutex);
  const auto found = reporters().find(uint64_t(pthread_self()));
  if (found == reporters().end() || (found->second->streams == 0 && found->second->callbacks.empty()))
    return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "aclrtProcessReport: this thread is subscribed to no stream");
  Reporter* reporter = found->second;
  auto arrived = [&] { return !reporter->callbacks.empty(); };
  const schedule::Demand demand([&] { return false; });
  if (timeout < 0) callback_added.wait(lock, arrived);
  else if (!callback_added.wait_for(lock, std::chrono::milliseconds(timeout), arrived))
    return fail(ACL_ERROR_RT_REPORT_TIMEOUT, "aclrtProcessReport: no callback within ", timeout, " ms");
  const Callback callback = reporter->callbacks.front();
  reporter->callbacks.pop_front();
  lock.unlock();
  sanitizer::host_reached(callback.before);
  callback.function(callback.argument);
  if (callback.done != nullptr) {
    callback.done->store(1);
    futex_wake_all(*callback.done);
  }
  return ACL_SUCCESS;
}
