// Host time of calls into the software NPU: what a program pays to launch work, not what the work takes.
//
//   cmake -S . -B build/bench -DMT_TESTS=ON && cmake --build build/bench --target softnpu_host
//   build/bench/softnpu_host [number of rounds]
//
// Prints the median, over the rounds, of the nanoseconds per call. A round launches fewer calls than a stream's queue
// holds, into a stream that is held back, and then lets it catch up outside of the measured time: what is measured is
// the launching thread alone, whether or not a second core is free.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl_abi.h"
#include "softnpu_control.h"

namespace {

constexpr int kCallsPerRound = 500;

void check(int code, const char* what) {
  if (code == 0) return;
  const char* message = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s: %d, %s\n", what, code, message == nullptr ? "(no message)" : message);
  std::exit(1);
}

template <class Call>
double nanoseconds_per_call(int rounds, aclrtStream stream, bool held_back, const Call& call) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    if (held_back) softnpu_gate(stream, 1);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCallsPerRound; ++i) call();
    const auto end = std::chrono::steady_clock::now();
    softnpu_gate(stream, 0);
    check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
    times.push_back(std::chrono::duration<double, std::nano>(end - begin).count() / kCallsPerRound);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

struct Bench {
  int rounds;
  aclrtStream stream;

  template <class Call>
  void print(const char* name, const Call& call) const {
    nanoseconds_per_call(rounds / 10 + 1, stream, true, call);  // warm up
    const double alone = nanoseconds_per_call(rounds, stream, true, call);
    const double together = nanoseconds_per_call(rounds, stream, false, call);
    std::printf("%-52s %9.0f %9.0f\n", name, alone, together);
  }
};

}  // namespace

int main(int argc, char** argv) {
  Bench bench{argc > 1 ? std::atoi(argv[1]) : 400, nullptr};
  check(aclInit(nullptr), "aclInit");
  check(aclrtSetDevice(0), "aclrtSetDevice");
  check(aclrtCreateStream(&bench.stream), "aclrtCreateStream");
  aclrtStream stream = bench.stream;
  void* data[3] = {};
  for (void*& buffer : data) {
    check(aclrtMalloc(&buffer, 64, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    check(aclrtMemset(buffer, 64, 0, 64), "aclrtMemset");
  }
  aclrtEvent event = nullptr;
  check(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), "aclrtCreateEventExWithFlag");

  const auto add = [&] {
    const int64_t size = 16;
    aclTensor* tensors[3];
    for (int i = 0; i < 3; ++i)
      tensors[i] = aclCreateTensor(&size, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &size, 1, data[i]);
    float one = 1;
    aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    check(aclnnAddGetWorkspaceSize(tensors[0], tensors[1], alpha, tensors[2], &workspace, &executor),
          "phase 1");
    check(aclnnAdd(nullptr, workspace, executor, stream), "phase 2");
    for (aclTensor* tensor : tensors) aclDestroyTensor(tensor);
    aclDestroyScalar(alpha);
  };
  aclmdlRI model = nullptr;
  check(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), "aclmdlRICaptureBegin");
  for (int i = 0; i < 10; ++i) add();
  check(aclmdlRICaptureEnd(stream, &model), "aclmdlRICaptureEnd");

  std::printf("%-52s %9s %9s\n", "ns of host time per call", "alone", "running");
  bench.print("an empty task (aclrtLaunchHostFunc)",
              [&] { check(aclrtLaunchHostFunc(stream, [](void*) {}, nullptr), "aclrtLaunchHostFunc"); });
  bench.print("aclrtRecordEvent", [&] { check(aclrtRecordEvent(event, stream), "aclrtRecordEvent"); });
  bench.print("aclrtMemsetAsync of 64 bytes",
              [&] { check(aclrtMemsetAsync(data[0], 64, 0, 64, stream), "aclrtMemsetAsync"); });
  bench.print("aclnnAdd of 16 floats: descriptors, both phases", add);
  bench.print("aclmdlRIExecuteAsync of 10 x aclnnAdd",
              [&] { check(aclmdlRIExecuteAsync(model, stream), "aclmdlRIExecuteAsync"); });
  check(aclmdlRIDestroy(model), "aclmdlRIDestroy");
  check(aclrtDestroyEvent(event), "aclrtDestroyEvent");
  check(aclrtResetDevice(0), "aclrtResetDevice");
  return 0;
}
