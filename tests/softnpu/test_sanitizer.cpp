// The sanitizer and the schedule through their C control functions. Whole programs: tests/softnpu_sanitizer.
#include <unistd.h>

#include <fstream>
#include <thread>

#include "check.h"

namespace {

// The sanitizer, on while this lives, with its log in a file.
class Sanitizer {
 public:
  explicit Sanitizer(const char* what) {
    CHECK_EQUAL(softnpu_sanitize_log(path_.c_str()), 1);
    CHECK_EQUAL(softnpu_sanitize(what), 1);
  }
  ~Sanitizer() {
    softnpu_sanitize(nullptr);
    softnpu_sanitize_log(nullptr);
    softnpu_set_launch_note(nullptr);
    std::remove(path_.c_str());
  }
  std::string log() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool said(const char* part) const { return log().find(part) != std::string::npos; }

 private:
  std::string path_ = "/tmp/softnpu_sanitizer_" + std::to_string(getpid()) + ".jsonl";
};

struct NewStream {
  NewStream() { OK(aclrtCreateStream(&handle)); }
  ~NewStream() { aclrtDestroyStream(handle); }
  aclrtStream handle = nullptr;
};

const char* note() { return "step 3 of the program"; }

}  // namespace

TEST("the sanitizer refuses a list it does not know and changes nothing") {
  const int before = softnpu_sanitizing();
  CHECK_EQUAL(softnpu_sanitize("address,speed"), 0);
  CHECK_EQUAL(softnpu_sanitizing(), before);
  Sanitizer sanitizer("address,race");
  CHECK_EQUAL(softnpu_sanitize("everything"), 0);
  CHECK(softnpu_sanitizing() != 0);
}

TEST("a report is told once, with the launch note of both sides") {
  Sanitizer sanitizer("race");
  softnpu_set_launch_note(&note);
  Floats x(16), y(16);
  NewStream first, second;
  for (int round = 0; round < 3; ++round) {
    LAUNCH_ON(first.handle, aclnnNeg, View(x.data(), {16}), View(y.data(), {16}));
    LAUNCH_ON(second.handle, aclnnNeg, View(y.data(), {16}), View(y.data(), {16}));
    OK(aclrtSynchronizeDevice());
  }
  CHECK_EQUAL(softnpu_sanitizer_reports(), 1u);
  CHECK(sanitizer.said("\"note\": \"step 3 of the program\""));
  CHECK(sanitizer.said("\"other\": {\"name\": \"aclnnNeg\""));
}

TEST("only the checks that were asked for are made") {
  Sanitizer sanitizer("uninitialised");
  void* data = nullptr;
  OK(aclrtMalloc(&data, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemset(data, 72, 0, 72));  // in the padding
  CHECK_EQUAL(softnpu_sanitizer_reports(), 0u);
  OK(aclrtFree(data));
}

TEST("pieces that an allocator marks are checked like allocations") {
  Sanitizer sanitizer("all");
  void* data = nullptr;
  OK(aclrtMalloc(&data, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  char* piece = static_cast<char*>(data) + 512;
  softnpu_mark_used(piece, 100);
  OK(aclrtMemset(piece, 100, 0, 100));
  CHECK_EQUAL(softnpu_sanitizer_reports(), 0u);
  OK(aclrtMemset(piece, 104, 0, 104));
  CHECK(sanitizer.said("\"kind\": \"out of bounds\""));
  softnpu_mark_free(piece, 100);
  OK(aclrtMemset(piece, 100, 0, 100));
  CHECK(sanitizer.said("\"kind\": \"use after free\""));
  softnpu_mark_used(piece, 200);  // somebody else's now, and empty
  char host[100];
  OK(aclrtMemcpy(host, 100, piece, 100, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(sanitizer.said("\"kind\": \"uninitialised read\""));
  CHECK_EQUAL(softnpu_sanitizer_reports(), 3u);
  OK(aclrtFree(data));
}

TEST("a view of every other row is written exactly there") {
  Sanitizer sanitizer("uninitialised");
  void* data = nullptr;
  OK(aclrtMalloc(&data, 64 * 4, ACL_MEM_MALLOC_HUGE_FIRST));
  Floats out(32);
  View even(data, {4, 8}, ACL_FLOAT, {16, 1}), odd(data, {4, 8}, ACL_FLOAT, {16, 1}, 8);
  LAUNCH(aclnnInplaceOne, even);
  LAUNCH(aclnnNeg, even, View(out.data(), {4, 8}));
  CHECK_EQUAL(softnpu_sanitizer_reports(), 0u);
  LAUNCH(aclnnNeg, odd, View(out.data(), {4, 8}));
  CHECK_EQUAL(softnpu_sanitizer_reports(), 1u);
  OK(aclrtSynchronizeDevice());
  OK(aclrtFree(data));
}

TEST("what a host function has seen comes before the host's next call") {
  Sanitizer sanitizer("race");
  Floats x(16), y(16);
  NewStream stream;
  std::atomic<bool> reached{false};
  LAUNCH_ON(stream.handle, aclnnNeg, View(x.data(), {16}), View(y.data(), {16}));
  OK(aclrtLaunchHostFunc(
      stream.handle, [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &reached));
  // The order is known a moment after the function has returned, which the stream's next event marks.
  aclrtEvent event = nullptr;
  OK(aclrtCreateEvent(&event));
  OK(aclrtRecordEvent(event, stream.handle));
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  while (!reached.load() || status != ACL_EVENT_RECORDED_STATUS_COMPLETE)
    OK(aclrtQueryEventStatus(event, &status));
  OK(aclrtMemset(y.data(), 64, 0, 64));
  CHECK_EQUAL(softnpu_sanitizer_reports(), 0u);
  OK(aclrtDestroyEvent(event));
}

TEST("with a schedule nothing runs until the host asks for a result") {
  softnpu_schedule(3, 1);
  {
    Floats x(16);
    NewStream stream;
    OK(aclrtMemsetAsync(x.data(), 64, 0, 64, stream.handle));
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    float before = 1;
    OK(aclrtMemcpy(&before, 4, x.data(), 4, ACL_MEMCPY_DEVICE_TO_HOST));
    OK(aclrtStreamQuery(stream.handle, &status));  // asks, so the task runs
    CHECK_EQUAL(int(status), int(ACL_STREAM_STATUS_COMPLETE));
  }
  softnpu_schedule(0, 0);
}

TEST("a schedule ends waiting that it cannot see") {
  softnpu_schedule(3, 1);
  {
    NewStream stream;
    std::atomic<bool> reached{false};
    Floats x(16);
    OK(aclrtMemsetAsync(x.data(), 64, 0, 64, stream.handle));
    OK(aclrtLaunchHostFunc(
        stream.handle, [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &reached));
    while (!reached.load()) std::this_thread::yield();
  }
  softnpu_schedule(0, 0);
}

TEST("a schedule with more tasks than a queue holds, on several streams, ends") {
  softnpu_schedule(11, 1);
  {
    Floats x(16), y(16);
    NewStream first, second;
    for (int i = 0; i < 1500; ++i) {
      OK(aclrtMemsetAsync(x.data(), 64, i, 64, first.handle));
      OK(aclrtMemsetAsync(y.data(), 64, i, 64, second.handle));
    }
    OK(aclrtSynchronizeDevice());
  }
  softnpu_schedule(0, 0);
}
