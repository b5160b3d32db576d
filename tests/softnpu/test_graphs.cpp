#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "check.h"
#include "handles.h"

namespace {

constexpr auto kRelaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
constexpr auto kThreadLocal = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto kGlobal = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

// An event that can be captured.
struct SyncEvent {
  SyncEvent() { OK(aclrtCreateEventExWithFlag(&handle, ACL_EVENT_SYNC)); }
  ~SyncEvent() { aclrtDestroyEvent(handle); }
  operator aclrtEvent() const { return handle; }
  aclrtEvent handle = nullptr;
};

struct ExternalEvent {
  ExternalEvent() { OK(aclrtCreateEventWithFlag(&handle, ACL_EVENT_EXTERNAL)); }
  ~ExternalEvent() { aclrtDestroyEvent(handle); }
  operator aclrtEvent() const { return handle; }
  aclrtEvent handle = nullptr;
};

struct Model {
  ~Model() {
    if (handle != nullptr) aclmdlRIDestroy(handle);
  }
  operator aclmdlRI() const { return handle; }
  aclmdlRI handle = nullptr;
};

aclmdlRICaptureStatus capture_status(aclrtStream stream) {
  aclmdlRICaptureStatus status;
  aclmdlRI model;
  OK(aclmdlRICaptureGetInfo(stream, &status, &model));
  return status;
}

void add_one(aclrtStream stream, const Floats& buffer) {
  View tensor(buffer.data(), {int64_t(buffer.bytes() / sizeof(float))});
  Number one(1.0);
  LAUNCH_ON(stream, aclnnInplaceAdds, tensor, one, one);
}

void fill(aclrtStream stream, const Floats& buffer, double value) {
  View tensor(buffer.data(), {int64_t(buffer.bytes() / sizeof(float))});
  Number number(value);
  LAUNCH_ON(stream, aclnnInplaceFillScalar, tensor, number);
}

}  // namespace

TEST("a capture records and does not run; a replay runs it each time, in any stream") {
  StreamHandle stream, other;
  Floats values({1, 2, 3});
  Model model;
  OK(aclmdlRICaptureBegin(stream, kRelaxed));
  CHECK_EQUAL(int(capture_status(stream)), int(ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE));
  add_one(stream, values);
  add_one(stream, values);
  OK(aclmdlRICaptureEnd(stream, &model.handle));
  CHECK_EQUAL(int(capture_status(stream)), int(ACL_MODEL_RI_CAPTURE_STATUS_NONE));
  CHECK((values.read() == std::vector<float>{1, 2, 3}));
  for (int i = 0; i < 3; ++i) OK(aclmdlRIExecuteAsync(model, stream));
  CHECK((values.read() == std::vector<float>{7, 8, 9}));
  OK(aclmdlRIExecuteAsync(model, other));
  OK(aclrtSynchronizeStream(other));
  OK(aclmdlRIExecuteAsync(model, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  OK(aclmdlRIExecute(model, 10000));
  CHECK((values.read() == std::vector<float>{13, 14, 15}));
}

TEST("a replay takes its turn in the stream, and outlives the model's destruction") {
  StreamHandle stream;
  Floats values({0});
  Model model;
  OK(aclmdlRICaptureBegin(stream, kRelaxed));
  add_one(stream, values);
  OK(aclmdlRICaptureEnd(stream, &model.handle));
  softnpu_gate(stream, 1);
  fill(stream, values, 10);
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclmdlRIDestroy(model));
  FAILS(aclmdlRIExecuteAsync(model, stream), 107000, "was destroyed");
  FAILS(aclmdlRIDestroy(model), 107000, "was destroyed");
  model.handle = nullptr;
  softnpu_gate(stream, 0);
  CHECK((values.read() == std::vector<float>{11}));
}

TEST("copies, fills and host functions are captured too") {
  StreamHandle stream;
  Floats values({1, 2}), copy(2);
  void* pinned = nullptr;
  OK(aclrtMallocHost(&pinned, 8));
  std::vector<int> log;
  Step step{&log, 5};
  Model model;
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  OK(aclrtMemcpyAsync(copy.data(), 8, values.data(), 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  OK(aclrtMemcpyAsync(pinned, 8, copy.data(), 8, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  OK(aclrtMemsetAsync(values.data(), 4, 0, 4, stream));
  OK(aclrtLaunchHostFunc(stream, append, &step));
  OK(aclmdlRICaptureEnd(stream, &model.handle));
  CHECK_EQUAL(log.size(), 0u);
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclrtSynchronizeStream(stream));
  CHECK_EQUAL(log.size(), 2u);
  CHECK_EQUAL(static_cast<float*>(pinned)[0], 0.0f);
  CHECK_EQUAL(static_cast<float*>(pinned)[1], 2.0f);
  OK(aclrtFreeHost(pinned));
}

TEST("a stream that waits for an event of the capture joins it, and must be waited for") {
  StreamHandle first, second;
  SyncEvent fork, join;
  Floats values({1});
  Model model;
  OK(aclmdlRICaptureBegin(first, kGlobal));
  add_one(first, values);
  OK(aclrtRecordEvent(fork, first));
  CHECK_EQUAL(int(capture_status(second)), int(ACL_MODEL_RI_CAPTURE_STATUS_NONE));
  OK(aclrtStreamWaitEvent(second, fork));
  CHECK_EQUAL(int(capture_status(second)), int(ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE));
  fill(second, values, 10);
  OK(aclrtRecordEvent(join, second));
  OK(aclrtStreamWaitEvent(first, join));
  add_one(first, values);
  aclmdlRI none = nullptr;
  FAILS(aclmdlRICaptureEnd(second, &none), 107036, "begun in stream");
  OK(aclmdlRICaptureEnd(first, &model.handle));
  CHECK_EQUAL(int(capture_status(second)), int(ACL_MODEL_RI_CAPTURE_STATUS_NONE));
  CHECK((values.read() == std::vector<float>{1}));
  OK(aclmdlRIExecuteAsync(model, second));
  CHECK((values.read() == std::vector<float>{11}));
  FAILS(aclrtSynchronizeEvent(fork), 107028, "recorded in a capture");
  FAILS(aclrtStreamWaitEvent(first, fork), 107028, "over");
  OK(aclrtRecordEvent(fork, first));
  OK(aclrtSynchronizeEvent(fork));
}

TEST("a stream that joined and was not waited for fails the capture") {
  StreamHandle first, second;
  SyncEvent fork;
  Floats values({1});
  OK(aclmdlRICaptureBegin(first, kGlobal));
  OK(aclrtRecordEvent(fork, first));
  OK(aclrtStreamWaitEvent(second, fork));
  add_one(second, values);
  aclmdlRI model = &model;
  FAILS(aclmdlRICaptureEnd(first, &model), 107025, "wait for it");
  CHECK(model == nullptr);
  add_one(second, values);  // nothing is captured any more
  CHECK((values.read() == std::vector<float>{2}));
}

TEST("a capture cannot depend on work outside of it") {
  StreamHandle stream, outside;
  SyncEvent event, never;
  OK(aclrtRecordEvent(event, outside));
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  FAILS(aclrtStreamWaitEvent(stream, event), 107024, "outside of the capture");
  OK(aclrtStreamWaitEvent(stream, never));  // nothing to wait for
  aclrtEvent plain = nullptr, shared = nullptr;
  OK(aclrtCreateEventWithFlag(&plain, ACL_EVENT_SYNC));
  OK(aclrtCreateEventExWithFlag(&shared, ACL_EVENT_IPC));
  FAILS(aclrtRecordEvent(plain, stream), 207000, "cannot be captured");
  FAILS(aclrtRecordEvent(shared, stream), 207000, "cannot be captured");
  OK(aclrtDestroyEvent(plain));
  OK(aclrtDestroyEvent(shared));
  SyncEvent fork;
  OK(aclrtRecordEvent(fork, stream));
  FAILS(aclrtStreamWaitEvent(nullptr, fork), 107031, "default stream");
  OK(aclmdlRICaptureBegin(outside, kGlobal));
  FAILS(aclrtStreamWaitEvent(outside, fork), 107032, "two different captures");
  Model first, second;
  OK(aclmdlRICaptureEnd(outside, &first.handle));
  OK(aclmdlRICaptureEnd(stream, &second.handle));
}

TEST("what waits for the device is refused while it is captured") {
  StreamHandle stream;
  SyncEvent event;
  Floats values({1});
  float host = 0;
  aclrtStreamStatus status;
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  FAILS(aclmdlRICaptureBegin(stream, kGlobal), 107027, "already");
  FAILS(aclrtSynchronizeStream(stream), 107027, "captured");
  FAILS(aclrtStreamQuery(stream, &status), 107027, "captured");
  FAILS(aclrtSynchronizeDevice(), 107027, "captured");
  FAILS(aclrtDestroyStream(stream), 107027, "captured");
  FAILS(aclrtMemcpy(&host, 4, values.data(), 4, ACL_MEMCPY_DEVICE_TO_HOST), 107030, "mode 0");
  FAILS(aclrtMemset(values.data(), 4, 0, 4), 107030, "mode 0");
  FAILS(aclrtMemcpyAsync(&host, 4, values.data(), 4, ACL_MEMCPY_DEVICE_TO_HOST, stream), 107041, "mode 0");
  void* memory = nullptr;
  OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtFree(memory));
  OK(aclrtRecordEvent(event, stream));
  aclrtEventRecordedStatus recorded;
  FAILS(aclrtQueryEventStatus(event, &recorded), 107028, "recorded in a capture");
  FAILS(aclrtSynchronizeEvent(event), 107028, "recorded in a capture");
  aclmdlRICaptureStatus capture;
  Model model;
  OK(aclmdlRICaptureGetInfo(stream, &capture, &model.handle));
  FAILS(aclmdlRIExecuteAsync(model, nullptr), 107026, "still being captured");
  FAILS(aclmdlRIDestroy(model), 107026, "still being captured");
  OK(aclmdlRICaptureEnd(stream, &model.handle));
  FAILS(aclmdlRICaptureEnd(stream, &model.handle), 107029, "not being captured");
  FAILS(aclmdlRICaptureBegin(nullptr, kGlobal), 107031, "default stream");
}

TEST("the modes of capture and thread decide who may make synchronous copies") {
  StreamHandle stream;
  Floats values({1});
  auto copies = [&](aclmdlRICaptureMode mine) {
    float host = 0;
    OK(aclmdlRICaptureThreadExchangeMode(&mine));
    const int code = aclrtMemcpy(&host, 4, values.data(), 4, ACL_MEMCPY_DEVICE_TO_HOST);
    OK(aclmdlRICaptureThreadExchangeMode(&mine));
    return code == 0;
  };
  auto elsewhere = [&](aclmdlRICaptureMode mine) {
    bool copied = false;
    std::thread([&] {
      aclrtSetDevice(0);
      copied = copies(mine);
    }).join();
    return copied;
  };
  struct Row {
    aclmdlRICaptureMode capture, thread;
    bool own, other;
  };
  for (const Row& row :
       {Row{kGlobal, kGlobal, false, false}, Row{kGlobal, kThreadLocal, false, true},
        Row{kGlobal, kRelaxed, true, true}, Row{kThreadLocal, kGlobal, false, true},
        Row{kThreadLocal, kThreadLocal, false, true}, Row{kThreadLocal, kRelaxed, true, true},
        Row{kRelaxed, kGlobal, true, true}, Row{kRelaxed, kThreadLocal, true, true}}) {
    Model model;
    OK(aclmdlRICaptureBegin(stream, row.capture));
    CHECK_EQUAL(copies(row.thread), row.own);
    CHECK_EQUAL(elsewhere(row.thread), row.other);
    OK(aclmdlRICaptureEnd(stream, &model.handle));
  }
  aclmdlRICaptureMode mode = aclmdlRICaptureMode(7);
  FAILS(aclmdlRICaptureThreadExchangeMode(&mode), 107000, "mode is 7");
}

TEST("only a relaxed capture may be ended by another thread") {
  StreamHandle stream;
  Model model;
  OK(aclmdlRICaptureBegin(stream, kThreadLocal));
  std::thread([&] {
    aclrtSetDevice(0);
    FAILS(aclmdlRICaptureEnd(stream, &model.handle), 107038, "another thread");
  }).join();
  OK(aclmdlRICaptureEnd(stream, &model.handle));
  OK(aclmdlRIDestroy(model));
  OK(aclmdlRICaptureBegin(stream, kRelaxed));
  std::thread([&] {
    aclrtSetDevice(0);
    OK(aclmdlRICaptureEnd(stream, &model.handle));
  }).join();
}

TEST("destroying a stream of the capture makes the capture invalid") {
  StreamHandle first;
  SyncEvent fork;
  aclrtStream second = nullptr;
  OK(aclrtCreateStream(&second));
  OK(aclmdlRICaptureBegin(first, kGlobal));
  OK(aclrtRecordEvent(fork, first));
  OK(aclrtStreamWaitEvent(second, fork));
  OK(aclrtDestroyStreamForce(second));
  CHECK_EQUAL(int(capture_status(first)), int(ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED));
  FAILS(aclrtRecordEvent(fork, first), 507903, "invalid");
  aclmdlRI model = nullptr;
  FAILS(aclmdlRICaptureEnd(first, &model), 507903, "destroyed");
  CHECK_EQUAL(int(capture_status(first)), int(ACL_MODEL_RI_CAPTURE_STATUS_NONE));
}

TEST("an operator that fails in a replay is reported with its name") {
  StreamHandle stream;
  Floats values({1});
  Model model;
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  add_one(stream, values);
  OK(aclmdlRICaptureEnd(stream, &model.handle));
  softnpu_fail("task:aclnnInplaceAdds", 2, 507015, 1);
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclmdlRIExecuteAsync(model, stream));
  FAILS(aclrtSynchronizeStream(stream), 507015, "aclnnInplaceAdds");
  CHECK((values.read() == std::vector<float>{2}));
}

TEST("tasks of a group can be replaced, in the order of the stream that replaces them") {
  StreamHandle stream, updater;
  Floats values({0}), others({0});
  Model model;
  aclrtTaskGrp group = nullptr;
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  add_one(stream, values);
  OK(aclmdlRICaptureTaskGrpBegin(stream));
  FAILS(aclmdlRICaptureTaskGrpBegin(stream), 107033, "already");
  fill(stream, values, 5);
  OK(aclmdlRICaptureTaskGrpEnd(stream, &group));
  FAILS(aclmdlRICaptureTaskGrpEnd(stream, &group), 107033, "no task group");
  add_one(stream, values);
  OK(aclmdlRICaptureEnd(stream, &model.handle));
  OK(aclmdlRIExecuteAsync(model, stream));
  CHECK((values.read() == std::vector<float>{6}));

  softnpu_gate(updater, 1);
  OK(aclmdlRICaptureTaskUpdateBegin(updater, group));
  FAILS(aclmdlRICaptureTaskUpdateBegin(updater, group), 107033, "already");
  fill(updater, values, 40);
  OK(aclmdlRICaptureTaskUpdateEnd(updater));
  OK(aclmdlRIExecuteAsync(model, stream));
  OK(aclrtSynchronizeStream(stream));
  softnpu_gate(updater, 0);
  CHECK((values.read() == std::vector<float>{6}));  // the update had not had its turn
  OK(aclmdlRIExecuteAsync(model, stream));
  CHECK((values.read() == std::vector<float>{41}));

  OK(aclmdlRICaptureTaskUpdateBegin(updater, group));
  add_one(updater, values);
  FAILS(aclmdlRICaptureTaskUpdateEnd(updater), 507000, "must be the same");
  FAILS(aclmdlRICaptureTaskUpdateEnd(updater), 107033, "no update");
  OK(aclmdlRIDestroy(model));
  model.handle = nullptr;
  FAILS(aclmdlRICaptureTaskUpdateBegin(updater, group), 107000, "no task group");
}

TEST("external events let a replay wait for an update") {
  StreamHandle stream, updater;
  ExternalEvent ready;
  Floats values({0});
  Model model;
  aclrtTaskGrp group = nullptr;
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  OK(aclrtStreamWaitEvent(stream, ready));
  OK(aclrtResetEvent(ready, stream));
  OK(aclmdlRICaptureTaskGrpBegin(stream));
  fill(stream, values, 1);
  OK(aclmdlRICaptureTaskGrpEnd(stream, &group));
  OK(aclmdlRICaptureEnd(stream, &model.handle));
  for (int round = 2; round < 5; ++round) {
    OK(aclmdlRIExecuteAsync(model, stream));
    FAILS(aclrtSynchronizeStreamWithTimeout(stream, 1), 507046, "not done");
    OK(aclmdlRICaptureTaskUpdateBegin(updater, group));
    fill(updater, values, round);
    OK(aclmdlRICaptureTaskUpdateEnd(updater));
    OK(aclrtRecordEvent(ready, updater));
    OK(aclrtSynchronizeStream(stream));
    CHECK((values.read() == std::vector<float>{float(round)}));
  }
  FAILS(aclrtSynchronizeEvent(ready), 207000, "external");
}

TEST("a graph prints its tasks") {
  StreamHandle stream;
  Floats values({0});
  Model model;
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  add_one(stream, values);
  OK(aclmdlRICaptureEnd(stream, &model.handle));
  const std::string path = "/tmp/softnpu_graph_" + std::to_string(getpid()) + ".json";
  OK(aclmdlRIDebugJsonPrint(model, path.c_str(), 0));
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  CHECK(text.str().find("\"name\": \"aclnnInplaceAdds\"") != std::string::npos);
  CHECK(text.str().find("\"Task Type\": \"KERNEL\"") != std::string::npos);
  FAILS(aclmdlRIDebugJsonPrint(model, "/nowhere/at/all.json", 0), 107009, "cannot write");
  OK(aclmdlRISetName(model, "a model"));
  char name[5];
  OK(aclmdlRIGetName(model, sizeof name, name));
  CHECK_EQUAL(std::string(name), std::string("a mo"));
  uint32_t first = 0, second = 0;
  OK(aclmdlRIGetId(model, &first));
  Model next;
  OK(aclmdlRICaptureBegin(stream, kGlobal));
  OK(aclmdlRICaptureEnd(stream, &next.handle));
  OK(aclmdlRIGetId(next, &second));
  CHECK(first != second);
  int ended = 0;
  OK(aclmdlRIDestroyRegisterCallback(next, [](void* count) { ++*static_cast<int*>(count); }, &ended));
  OK(aclmdlRIDestroy(next));
  next.handle = nullptr;
  CHECK_EQUAL(ended, 1);
}

TEST("conditional tasks choose what runs by a value in device memory") {
  StreamHandle stream, body_stream;
  Floats values({0});
  Model model;
  OK(aclmdlRICaptureBegin(stream, kRelaxed));
  aclmdlRICaptureStatus status;
  aclmdlRI root = nullptr;
  OK(aclmdlRICaptureGetInfo(stream, &status, &root));
  aclmdlRICondHandle condition = nullptr;
  OK(aclmdlRICondHandleCreate(root, 1, aclmdlRICondHandleFlag(0), &condition));
  aclmdlRI bodies[2] = {};
  OK(aclmdlRIAddCondTask({condition, ACL_MODEL_RI_COND_TYPE_IF, 2, bodies}, stream, 0));
  OK(aclmdlRICaptureEnd(stream, &model.handle));
  for (int i = 0; i < 2; ++i) {
    aclmdlRI captured = nullptr;
    OK(aclmdlRICaptureToModelRIBegin(body_stream, bodies[i], kRelaxed));
    fill(body_stream, values, i == 0 ? 7 : 8);
    OK(aclmdlRICaptureEnd(body_stream, &captured));
    CHECK(captured == bodies[i]);
  }
  OK(aclmdlRIExecuteAsync(model, stream));
  CHECK((values.read() == std::vector<float>{7}));
  uint64_t* value = nullptr;
  OK(aclmdlRICondHandleGetCondPtr(condition, &value));
  OK(aclrtMemset(value, 8, 0, 8));
  OK(aclmdlRIExecuteAsync(model, stream));
  CHECK((values.read() == std::vector<float>{8}));
  FAILS(aclmdlRIDestroy(bodies[0]), 107000, "ends with it");
  FAILS(aclmdlRICaptureToModelRIBegin(body_stream, model, kRelaxed), 107000, "conditional task");
  OK(aclmdlRIDestroy(model));
  model.handle = nullptr;
  OK(aclrtSynchronizeDevice());
  FAILS(aclmdlRICondHandleGetCondPtr(condition, &value), 107000, "was destroyed");
}
