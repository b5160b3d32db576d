#include <pthread.h>

#include <atomic>
#include <thread>

#include "check.h"
#include "handles.h"

TEST("tasks of a stream run in the order of their launches") {
  StreamHandle stream;
  std::vector<int> log;
  std::vector<Step> steps;
  for (int i = 0; i < 5000; ++i) steps.push_back({&log, i});
  for (Step& step : steps) OK(aclrtLaunchHostFunc(stream, append, &step));
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQUAL(log.size(), steps.size());
  for (int i = 0; i < 5000; ++i) CHECK_EQUAL(log[size_t(i)], i);
}

TEST("launches from many threads all arrive, each thread's in its order") {
  StreamHandle stream;
  std::vector<int> log;
  std::vector<Step> steps;
  for (int i = 0; i < 4000; ++i) steps.push_back({&log, i});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      OK(aclrtSetDevice(0));
      for (int i = 0; i < 1000; ++i) OK(aclrtLaunchHostFunc(stream, append, &steps[size_t(t * 1000 + i)]));
    });
  for (std::thread& thread : threads) thread.join();
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQUAL(log.size(), 4000u);
  int last[4] = {-1, -1, -1, -1};
  for (const int number : log) {
    CHECK(number % 1000 > last[number / 1000]);
    last[number / 1000] = number % 1000;
  }
}

TEST("work is asynchronous: a closed gate holds it and the launch returns") {
  StreamHandle stream;
  Floats buffer(16);
  softnpu_gate(stream, 1);
  OK(aclrtMemsetAsync(buffer.data(), buffer.bytes(), 0, buffer.bytes(), stream));
  CHECK(!done(stream));
  FAILS(aclrtSynchronizeStreamWithTimeout(stream, 1), 507046, "not done in time");
  softnpu_gate(stream, 0);
  OK(aclrtSynchronizeStream(stream));
  CHECK(done(stream));
}

TEST("a stream waits for an event of another stream") {
  StreamHandle first, second;
  EventHandle event;
  std::vector<int> log;
  Step one{&log, 1}, two{&log, 2};
  softnpu_gate(first, 1);
  OK(aclrtLaunchHostFunc(first, append, &one));
  OK(aclrtRecordEvent(event, first));
  OK(aclrtStreamWaitEvent(second, event));
  OK(aclrtLaunchHostFunc(second, append, &two));
  CHECK(!reached(event));
  FAILS(aclrtSynchronizeStreamWithTimeout(second, 2), 507046, "not done in time");
  softnpu_gate(first, 0);
  OK(aclrtSynchronizeStream(second));
  CHECK((log == std::vector<int>{1, 2}));
}

TEST("recording an event again makes a new version; a waiter keeps the one it saw") {
  StreamHandle first, second;
  EventHandle event;
  OK(aclrtRecordEvent(event, first));
  OK(aclrtSynchronizeEvent(event));
  softnpu_gate(second, 1);
  OK(aclrtStreamWaitEvent(second, event));  // of the version already reached
  softnpu_gate(first, 1);
  OK(aclrtRecordEvent(event, first));
  CHECK(!reached(event));
  softnpu_gate(second, 0);
  OK(aclrtSynchronizeStream(second));
  CHECK(!reached(event));
  FAILS(aclrtSynchronizeEventWithTimeout(event, 1), 507047, "not reached");
  softnpu_gate(first, 0);
  OK(aclrtSynchronizeEvent(event));
}

TEST("elapsed time needs two reached events in order") {
  StreamHandle stream;
  EventHandle start, end;
  float ms = -1;
  FAILS(aclrtEventElapsedTime(&ms, start, end), 107006, "never recorded");
  OK(aclrtRecordEvent(start, stream));
  OK(aclrtSynchronizeEvent(start));
  softnpu_gate(stream, 1);
  OK(aclrtRecordEvent(end, stream));
  FAILS(aclrtEventElapsedTime(&ms, start, end), 507006, "synchronise first");
  softnpu_gate(stream, 0);
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtEventElapsedTime(&ms, start, end));
  CHECK(ms >= 0);
  FAILS(aclrtEventElapsedTime(&ms, end, start), 107007, "before the start");
}

TEST("events of the extended kind obey their flags") {
  aclrtEvent timing = nullptr;
  FAILS(aclrtCreateEventExWithFlag(&timing, 0), 100000, "ACL_EVENT_SYNC");
  OK(aclrtCreateEventExWithFlag(&timing, ACL_EVENT_TIME_LINE));
  StreamHandle stream;
  OK(aclrtRecordEvent(timing, stream));
  FAILS(aclrtStreamWaitEvent(stream, timing), 107000, "ACL_EVENT_SYNC");
  OK(aclrtDestroyEvent(timing));
  FAILS(aclrtRecordEvent(timing, stream), 107000, "destroyed");
}

TEST("a destroyed or made-up stream is refused") {
  aclrtStream stream = nullptr;
  OK(aclrtCreateStreamWithConfig(&stream, 2, ACL_STREAM_FAST_LAUNCH));
  uint32_t priority = 0, flags = 0;
  OK(aclrtStreamGetPriority(stream, &priority));
  OK(aclrtStreamGetFlags(stream, &flags));
  CHECK_EQUAL(priority, 2u);
  CHECK_EQUAL(flags, uint32_t(ACL_STREAM_FAST_LAUNCH));
  OK(aclrtDestroyStream(stream));
  FAILS(aclrtSynchronizeStream(stream), 107000, "destroyed");
  FAILS(aclrtDestroyStream(stream), 107000, "destroyed");
  int local = 0;
  FAILS(aclrtSynchronizeStream(&local), 107000, "is not one");
}

TEST("a stream of another device is refused until its device is set") {
  StreamHandle stream;
  OK(aclrtSetDevice(1));
  FAILS(aclrtSynchronizeStream(stream), 107003, "belongs to device 0");
  OK(aclrtResetDevice(1));
  OK(aclrtSetDevice(0));
  OK(aclrtSynchronizeStream(stream));
}

TEST("destroying a stream by force drops what has not started, and frees those who wait for it") {
  StreamHandle other;
  EventHandle event;
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  std::vector<int> log;
  Step never{&log, 1};
  softnpu_gate(stream, 1);
  OK(aclrtLaunchHostFunc(stream, append, &never));
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtStreamWaitEvent(other, event));
  OK(aclrtDestroyStreamForce(stream));
  OK(aclrtSynchronizeStream(other));
  CHECK(log.size() <= 1);
}

TEST("an asynchronous copy of pageable memory is over when the call returns") {
  StreamHandle stream;
  Floats buffer({1, 2, 3, 4});
  float host[4] = {};
  softnpu_set_delay(1000);
  OK(aclrtMemcpyAsync(host, 16, buffer.data(), 16, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK_EQUAL(host[3], 4.0f);
}

TEST("an asynchronous copy of pinned memory waits for its turn") {
  StreamHandle stream;
  Floats buffer({1, 2, 3, 4});
  void* pinned = nullptr;
  OK(aclrtMallocHost(&pinned, 16));
  static_cast<float*>(pinned)[3] = -1;
  softnpu_gate(stream, 1);
  OK(aclrtMemcpyAsync(pinned, 16, buffer.data(), 16, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK_EQUAL(static_cast<float*>(pinned)[3], -1.0f);
  softnpu_gate(stream, 0);
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQUAL(static_cast<float*>(pinned)[3], 4.0f);
  FAILS(aclrtMemcpyAsync(pinned, 16, pinned, 16, ACL_MEMCPY_HOST_TO_HOST, stream), 207000, "host to host");
  OK(aclrtFreeHost(pinned));
}

TEST("callbacks run in the thread that subscribed") {
  StreamHandle stream;
  std::vector<int> log;
  Step step{&log, 7};
  FAILS(aclrtLaunchCallback(append, &step, ACL_CALLBACK_BLOCK, stream), 107015, "aclrtSubscribeReport");
  OK(aclrtSubscribeReport(uint64_t(pthread_self()), stream));
  FAILS(aclrtProcessReport(1), 507012, "no callback");
  OK(aclrtLaunchCallback(append, &step, ACL_CALLBACK_BLOCK, stream));
  CHECK_EQUAL(log.size(), 0u);
  OK(aclrtProcessReport(10000));
  OK(aclrtSynchronizeStream(stream));
  CHECK((log == std::vector<int>{7}));
  OK(aclrtUnSubscribeReport(uint64_t(pthread_self()), stream));
}

TEST("a callback that waits for its own stream is told so") {
  StreamHandle stream;
  struct Result {
    aclrtStream stream;
    std::atomic<int> code;
  } result{stream, 0};
  OK(aclrtLaunchHostFunc(
      stream,
      [](void* argument) {
        auto* r = static_cast<Result*>(argument);
        aclrtSetDevice(0);
        r->code = aclrtSynchronizeStream(r->stream);
      },
      &result));
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQUAL(result.code.load(), 107000);
}

TEST("the device is synchronised over all of its streams") {
  StreamHandle first, second;
  std::vector<int> one_log, two_log;
  Step one{&one_log, 1}, two{&two_log, 2};
  OK(aclrtLaunchHostFunc(first, append, &one));
  OK(aclrtLaunchHostFunc(second, append, &two));
  OK(aclrtSynchronizeDevice());
  CHECK_EQUAL(one_log.size() + two_log.size(), 2u);
}

TEST("an event that is reset is as if it had not been recorded; who waits keeps waiting for what it saw") {
  StreamHandle first, second, third;
  aclrtEvent event = nullptr;
  OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
  aclrtEventWaitStatus waits;
  OK(aclrtQueryEventWaitStatus(event, &waits));
  CHECK_EQUAL(int(waits), int(ACL_EVENT_WAIT_STATUS_COMPLETE));
  softnpu_gate(first, 1);
  OK(aclrtRecordEvent(event, first));
  OK(aclrtStreamWaitEvent(second, event));
  OK(aclrtResetEvent(event, second));
  CHECK(!reached(event));
  OK(aclrtStreamWaitEvent(third, event));
  OK(aclrtSynchronizeStream(third));
  FAILS(aclrtSynchronizeStreamWithTimeout(second, 1), 507046, "not done in time");
  OK(aclrtQueryEventWaitStatus(event, &waits));
  CHECK_EQUAL(int(waits), int(ACL_EVENT_WAIT_STATUS_NOT_READY));
  softnpu_gate(first, 0);
  OK(aclrtSynchronizeStream(second));
  OK(aclrtQueryEventWaitStatus(event, &waits));
  CHECK_EQUAL(int(waits), int(ACL_EVENT_WAIT_STATUS_COMPLETE));
  OK(aclrtDestroyEvent(event));
  EventHandle plain;
  FAILS(aclrtResetEvent(plain, first), 107000, "cannot be reset");
}

TEST("a wait for an event can have a limit") {
  StreamHandle first, second;
  EventHandle event;
  softnpu_gate(first, 1);
  OK(aclrtRecordEvent(event, first));
  OK(aclrtStreamWaitEventWithTimeout(second, event, 1));
  FAILS(aclrtSynchronizeStream(second), 107019, "not reached in time");
  FAILS(aclrtStreamWaitEventWithTimeout(second, event, -1), 100000, "milliseconds");
}

TEST("timestamps of events are in the order of the stream") {
  StreamHandle stream;
  EventHandle first, second;
  uint64_t early = 0, late = 0;
  FAILS(aclrtEventGetTimestamp(first, &early), 107006, "never recorded");
  OK(aclrtRecordEvent(first, stream));
  OK(aclrtRecordEvent(second, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtEventGetTimestamp(first, &early));
  OK(aclrtEventGetTimestamp(second, &late));
  CHECK(early <= late && early > 0);
}

TEST("an event of the extended kind that was never recorded counts as complete") {
  aclrtEvent event = nullptr;
  OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  CHECK(reached(event));
  OK(aclrtDestroyEvent(event));
}

TEST("aborting a stream discards its tasks, says so once, and leaves it usable") {
  StreamHandle stream, other;
  EventHandle event;
  std::vector<int> log;
  Step lost{&log, 1}, kept{&log, 2};
  softnpu_gate(stream, 1);
  OK(aclrtLaunchHostFunc(stream, append, &lost));
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtStreamWaitEvent(other, event));
  OK(aclrtStreamAbort(stream));
  OK(aclrtSynchronizeStream(other));  // not left behind
  softnpu_gate(stream, 0);
  OK(aclrtLaunchHostFunc(stream, append, &kept));
  FAILS(aclrtSynchronizeStream(stream), 107023, "discarded");
  OK(aclrtSynchronizeStream(stream));
  CHECK((log == std::vector<int>{2}));
}

TEST("aborting the tasks of a device frees streams that wait for each other") {
  StreamHandle first, second;
  EventHandle event;
  std::vector<int> log;
  Step step{&log, 3};
  softnpu_gate(first, 1);
  OK(aclrtRecordEvent(event, first));
  OK(aclrtStreamWaitEvent(second, event));
  OK(aclrtDeviceTaskAbort(0, 0));
  FAILS(aclrtSynchronizeStream(second), 107022, "aclrtDeviceTaskAbort");
  softnpu_gate(first, 0);
  FAILS(aclrtSynchronizeStream(first), 107022, "aclrtDeviceTaskAbort");
  OK(aclrtSynchronizeStream(first));
  OK(aclrtLaunchHostFunc(first, append, &step));
  OK(aclrtSynchronizeStream(first));
  CHECK_EQUAL(log.size(), 1u);
  FAILS(aclrtDeviceTaskAbort(5, 0), 107001, "there are 2");
  aclrtSynchronizeDevice();  // the default stream reports as well
}

TEST("a context that stops on failure runs nothing after one, and says why each time") {
  aclrtContext context = nullptr, before = nullptr;
  OK(aclrtGetCurrentContext(&before));
  OK(aclrtCreateContext(&context, 1));
  aclrtStream stream = nullptr, other = nullptr;
  OK(aclrtCreateStream(&stream));
  OK(aclrtCreateStream(&other));
  FAILS(aclrtSetStreamFailureMode(stream, 2), 107000, "stop on failure");
  OK(aclrtSetStreamFailureMode(stream, 1));
  void* memory = nullptr;
  OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<int> log;
  Step step{&log, 1};
  softnpu_fail("task:aclrtMemsetAsync", 1, 507015, 1);
  OK(aclrtMemsetAsync(memory, 64, 0, 64, stream));
  OK(aclrtLaunchHostFunc(stream, append, &step));
  FAILS(aclrtSynchronizeStream(stream), 507015, "aclrtMemsetAsync failed");
  FAILS(aclrtSynchronizeStream(stream), 507015, "aclrtMemsetAsync failed");
  OK(aclrtLaunchHostFunc(other, append, &step));
  FAILS(aclrtSynchronizeStream(other), 507015, "stopped");
  CHECK_EQUAL(log.size(), 0u);
  OK(aclrtFree(memory));
  OK(aclrtDestroyContext(context));
  OK(aclrtSetCurrentContext(before));
}

TEST("a stream waits for a value that another one writes") {
  StreamHandle first, second;
  std::vector<int> log;
  Step step{&log, 1};
  void* word = nullptr;
  OK(aclrtMalloc(&word, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemset(word, 64, 0, 64));
  OK(aclrtValueWait(word, 3, ACL_STREAM_WAIT_VALUE_GEQ, second));
  OK(aclrtLaunchHostFunc(second, append, &step));
  OK(aclrtValueWrite(word, 2, 0, first));
  OK(aclrtSynchronizeStream(first));
  CHECK(!done(second));
  OK(aclrtValueWrite(word, 4, 0, first));
  OK(aclrtSynchronizeStream(second));
  CHECK_EQUAL(log.size(), 1u);
  uint64_t value = 0;
  OK(aclrtMemcpy(&value, 8, word, 8, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK_EQUAL(value, 4u);
  OK(aclrtValueWait(word, 4, ACL_STREAM_WAIT_VALUE_EQ, second));
  OK(aclrtValueWait(word, 5, ACL_STREAM_WAIT_VALUE_AND, second));
  OK(aclrtValueWait(word, 5, ACL_STREAM_WAIT_VALUE_NOR, second));
  OK(aclrtSynchronizeStream(second));
  FAILS(aclrtValueWait(word, 5, 4, second), 107000, "wanted 0 to 3");
  FAILS(aclrtValueWrite(static_cast<char*>(word) + 4, 0, 0, second), 107000, "multiple of 8");
  FAILS(aclrtCmoAsync(word, 4096, ACL_RT_CMO_TYPE_PREFETCH, second), 107000, "live device");
  OK(aclrtCmoAsync(word, 64, ACL_RT_CMO_TYPE_PREFETCH, second));
  OK(aclrtFree(word));
  FAILS(aclrtValueWrite(word, 0, 0, second), 107000, "live device");
}
