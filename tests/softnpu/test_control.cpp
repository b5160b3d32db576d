#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "check.h"

TEST("the n-th call of a function fails on request, once") {
  softnpu_fail("aclrtMalloc", 2, 207001, 1);
  void *first = nullptr, *second = nullptr;
  OK(aclrtMalloc(&first, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  FAILS(aclrtMalloc(&second, 64, ACL_MEM_MALLOC_HUGE_FIRST), 207001, "on request");
  CHECK_EQUAL(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), 207001);
  CHECK_EQUAL(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 207001);
  CHECK_EQUAL(aclrtGetLastError(ACL_RT_THREAD_LEVEL), 0);
  OK(aclrtMalloc(&second, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtFree(first));
  OK(aclrtFree(second));
  CHECK_EQUAL(softnpu_failures(), 1u);
}

TEST("each call of a sequence can be made to fail in turn, and nothing leaks") {
  auto sequence = []() -> int {
    void* data = nullptr;
    if (const int code = aclrtMalloc(&data, 64, ACL_MEM_MALLOC_HUGE_FIRST)) return code;
    const int64_t size = 16;
    int code = 0;
    aclTensor* tensor = aclCreateTensor(&size, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &size, 1, data);
    if (tensor == nullptr) {
      code = 1;
    } else {
      uint64_t workspace = 0;
      aclOpExecutor* executor = nullptr;
      code = aclnnInplaceZeroGetWorkspaceSize(tensor, &workspace, &executor);
      if (code == 0) code = aclnnInplaceZero(nullptr, workspace, executor, nullptr);
      aclDestroyTensor(tensor);
    }
    if (code == 0) code = aclrtSynchronizeStream(nullptr);
    aclrtSynchronizeStream(nullptr);
    const int freed = aclrtFree(data);
    return code != 0 ? code : freed;
  };
  const uint64_t before = softnpu_live_bytes(0);
  softnpu_calls_reset();
  OK(sequence());
  const uint64_t calls = softnpu_calls();
  CHECK(calls >= 5);
  for (uint64_t n = 1; n < calls;
       ++n) {  // the last call is the second synchronisation, whose result is not used
    softnpu_fail("*", n, 507899, 1);
    CHECK(sequence() != 0);
    softnpu_fail_clear();
    CHECK_EQUAL(softnpu_live_bytes(0), before);
    OK(sequence());
  }
}

TEST("an operator that fails on the device is reported by the next synchronisation, once, with its name") {
  Floats buffer(16);
  View tensor(buffer.data(), {16});
  softnpu_fail("task:aclnnInplaceOne", 1, 507015, 1);
  LAUNCH(aclnnInplaceOne, tensor);
  LAUNCH(aclnnInplaceZero, tensor);
  FAILS(aclrtSynchronizeStream(nullptr), 507015, "aclnnInplaceOne failed on device 0");
  OK(aclrtSynchronizeStream(nullptr));
}

TEST("the trace has a JSON line per call") {
  const std::string path = "/tmp/softnpu_trace_" + std::to_string(getpid()) + ".jsonl";
  CHECK(softnpu_trace(path.c_str()) == 1);
  void* data = nullptr;
  OK(aclrtMalloc(&data, 640, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtFree(data));
  CHECK(softnpu_trace(nullptr) == 1);
  std::ifstream file(path);
  std::string line;
  CHECK(bool(std::getline(file, line)));
  CHECK(line.find("{\"function\": \"aclrtMalloc\", \"args\": {\"size\": 640, \"policy\": 0}") == 0);
  CHECK(bool(std::getline(file, line)));
  CHECK(line.find("aclrtFree") != line.npos);
  CHECK(!std::getline(file, line));
  std::remove(path.c_str());
  CHECK(softnpu_trace("/no/such/folder/trace") == 0);
}

TEST("messages belong to a thread and are given once") {
  CHECK(aclrtFree(nullptr) != 0);
  std::thread([] { CHECK(aclGetRecentErrMsg() == nullptr); }).join();
  CHECK(aclGetRecentErrMsg() != nullptr);
  CHECK(aclGetRecentErrMsg() == nullptr);
}

TEST("devices and memory cannot change once a device was used") {
  CHECK_EQUAL(softnpu_set_devices(4), 0);
  CHECK_EQUAL(softnpu_set_memory(1 << 20), 0);
}

// ThreadSanitizer cannot follow a fork of a process with threads; the other builds prove these.
#if !defined(__SANITIZE_THREAD__)
TEST("a forked child is told that it cannot use the device, and exits") {
  Floats buffer(16);
  const int status = run_in_child([&] {
    void* data = nullptr;
    if (aclrtMalloc(&data, 64, ACL_MEM_MALLOC_HUGE_FIRST) != 507899) _exit(1);
    const char* message = aclGetRecentErrMsg();
    if (message == nullptr || std::string(message).find("forked") == std::string::npos) _exit(2);
    if (aclrtSynchronizeDevice() == 0) _exit(3);
  });
  CHECK_EQUAL(status, 0);
}

TEST("a process ends although its streams have work and nothing was finalised") {
  const char* self = "/proc/self/exe";
  const int status = run_in_child([&] {
    setenv("SOFTNPU_TEST_EXIT", "1", 1);
    execl(self, "test_softnpu", "ends inside a test", nullptr);
    _exit(99);
  });
  CHECK_EQUAL(status, 0);
}

// Run by the test above, in a process of its own.
TEST("(a process that ends inside a test)") {
  if (getenv("SOFTNPU_TEST_EXIT") == nullptr) return;
  aclrtStream gated = nullptr, busy = nullptr;
  OK(aclrtCreateStream(&gated));
  OK(aclrtCreateStream(&busy));
  void* data = nullptr;
  OK(aclrtMalloc(&data, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  softnpu_gate(gated, 1);
  aclrtEvent event = nullptr;
  OK(aclrtCreateEvent(&event));
  OK(aclrtMemsetAsync(data, 1 << 20, 0, 1 << 20, gated));
  OK(aclrtRecordEvent(event, gated));
  for (int i = 0; i < 200; ++i) OK(aclrtMemsetAsync(data, 1 << 20, 0, 1 << 20, busy));
  OK(aclrtStreamWaitEvent(busy, event));
  std::exit(0);
}
#endif
