#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "check.h"

std::vector<TestCase>& test_cases() {
  static std::vector<TestCase> cases;
  return cases;
}

int run_in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::exit(0);
  }
  for (int tick = 0; tick < 3000; ++tick) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return status;
    usleep(10000);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

Floats::Floats(std::vector<float> values) : count_(values.size()) {
  OK(aclrtMalloc(&data_, bytes(), ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemcpy(data_, bytes(), values.data(), bytes(), ACL_MEMCPY_HOST_TO_DEVICE));
}

Floats::~Floats() {
  aclrtSynchronizeDevice();
  aclrtFree(data_);
}

std::vector<float> Floats::read() const {
  OK(aclrtSynchronizeDevice());
  std::vector<float> values(count_);
  OK(aclrtMemcpy(values.data(), bytes(), data_, bytes(), ACL_MEMCPY_DEVICE_TO_HOST));
  return values;
}

View::View(void* data, std::vector<int64_t> sizes, aclDataType type, std::vector<int64_t> strides,
           int64_t offset) {
  const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
  handle = aclCreateTensor(sizes.data(), sizes.size(), type, strides.empty() ? nullptr : strides.data(),
                           offset, ACL_FORMAT_ND, &count, 1, data);
  CHECK(handle != nullptr);
}

// test_softnpu [part of a test's name]
int main(int argc, char** argv) {
  softnpu_set_devices(2);
  softnpu_set_memory(64 << 20);
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) {
    std::printf("cannot start: %s\n", aclGetRecentErrMsg());
    return 1;
  }
  int failed = 0, run = 0;
  for (const TestCase& test : test_cases()) {
    if (argc > 1 && std::strstr(test.name, argv[1]) == nullptr) continue;
    ++run;
    try {
      aclrtSetDevice(0);
      test.body();
    } catch (const std::exception& error) {
      ++failed;
      std::printf("FAILED %s\n  %s\n", test.name, error.what());
    }
    softnpu_fail_clear();
    softnpu_gate(nullptr, 0);
    softnpu_set_delay(0);
    aclrtSetDevice(0);
    aclrtSynchronizeDevice();
  }
  std::printf("%d tests, %d failed\n", run, failed);
  return failed != 0 || run == 0;
}
