// Memory and events shared between processes.
#include <unistd.h>

#include "check.h"
#include "handles.h"

namespace {

struct SharedEventHandle {
  SharedEventHandle() { OK(aclrtCreateEventExWithFlag(&handle, ACL_EVENT_IPC)); }
  ~SharedEventHandle() { aclrtDestroyEvent(handle); }
  operator aclrtEvent() const { return handle; }
  aclrtEvent handle = nullptr;
};

std::string handle_text(aclrtEvent event) {
  aclrtIpcEventHandle handle;
  OK(aclrtIpcGetEventHandle(event, &handle));
  return handle.reserved;
}

aclrtEvent open_event(const std::string& text) {
  aclrtIpcEventHandle handle = {};
  text.copy(handle.reserved, sizeof handle.reserved - 1);
  aclrtEvent event = nullptr;
  OK(aclrtIpcOpenEventHandle(handle, &event));
  return event;
}

float first_of(const void* device) {
  float value = 0;
  OK(aclrtMemcpy(&value, sizeof value, device, sizeof value, ACL_MEMCPY_DEVICE_TO_HOST));
  return value;
}

}  // namespace

CHILD_PROGRAM(import_by_key) {
  const std::string key = child_hears();
  void *memory = nullptr, *again = nullptr;
  FAILS(aclrtIpcMemImportByKey(&memory, key.c_str(), 0), 207006, "not admitted");
  child_says("refused");
  child_hears();
  OK(aclrtIpcMemImportByKey(&memory, key.c_str(), 0));
  OK(aclrtIpcMemImportByKey(&again, key.c_str(), 0));
  CHECK(memory == again);
  CHECK_EQUAL(first_of(memory), 7.0f);
  float host = 8;
  OK(aclrtMemcpy(memory, 4, &host, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  FAILS(aclrtMemcpy(static_cast<char*>(memory) + 400, 4, &host, 4, ACL_MEMCPY_HOST_TO_DEVICE), 107000,
        "live");
  FAILS(aclrtFree(memory), 107000, "live device allocation");
  OK(aclrtIpcMemClose(key.c_str()));
  CHECK_EQUAL(first_of(memory), 8.0f);  // it was imported twice
  OK(aclrtIpcMemClose(key.c_str()));
  FAILS(aclrtMemcpy(&host, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST), 107000, "live");
  FAILS(aclrtIpcMemClose(key.c_str()), 107000, "has not imported");
  child_says("done");
}

TEST("device memory can be used by another process that was admitted") {
  Floats values(std::vector<float>(100, 7.0f));
  char key[65];
  FAILS(aclrtIpcMemGetExportKey(values.data(), 4096, key, sizeof key, 0), 107000, "live");
  FAILS(aclrtIpcMemGetExportKey(values.data(), 400, key, 10, 0), 100000, "wanted 65");
  OK(aclrtIpcMemGetExportKey(values.data(), 400, key, sizeof key, ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT));
  ChildProcess child("import_by_key");
  child.say(key);
  CHECK_EQUAL(child.hear(), std::string("refused"));
  int32_t pid = child.pid();
  OK(aclrtIpcMemSetImportPid(key, &pid, 1));
  child.say("admitted");
  CHECK_EQUAL(child.hear(), std::string("done"));
  CHECK_EQUAL(child.join(), 0);
  CHECK_EQUAL(values.read()[0], 8.0f);
  OK(aclrtIpcMemClose(key));
  FAILS(aclrtIpcMemClose(key), 107000, "any more");
  void* memory = nullptr;
  FAILS(aclrtIpcMemImportByKey(&memory, "not a key", 0), 107000, "aclrtIpcMemGetExportKey");
}

CHILD_PROGRAM(wait_for_event) {
  const std::string key = child_hears();
  aclrtEvent event = open_event(child_hears());
  void* memory = nullptr;
  OK(aclrtIpcMemImportByKey(&memory, key.c_str(), 0));
  Floats copy(1);
  StreamHandle stream;
  OK(aclrtStreamWaitEvent(stream, event));  // nothing was recorded yet
  OK(aclrtSynchronizeStream(stream));
  child_says("opened");
  child_hears();  // recorded by now, but its stream is held back
  OK(aclrtStreamWaitEvent(stream, event));
  OK(aclrtMemcpyAsync(copy.data(), 4, memory, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  aclrtEventRecordedStatus status;
  OK(aclrtQueryEventStatus(event, &status));
  CHECK_EQUAL(int(status), int(ACL_EVENT_RECORDED_STATUS_NOT_READY));
  FAILS(aclrtSynchronizeEventWithTimeout(event, 1), 507047, "not reached");
  child_says("waiting");
  OK(aclrtSynchronizeStream(stream));
  child_says(std::to_string(copy.read()[0]));
  OK(aclrtDestroyEvent(event));
  OK(aclrtIpcMemClose(key.c_str()));
}

TEST("a stream waits for an event of another process") {
  Floats values({1});
  SharedEventHandle event;
  StreamHandle stream;
  char key[65];
  OK(aclrtIpcMemGetExportKey(values.data(), 4, key, sizeof key,
                             ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
  ChildProcess child("wait_for_event");
  child.say(key);
  child.say(handle_text(event));
  CHECK_EQUAL(child.hear(), std::string("opened"));
  softnpu_gate(stream, 1);
  View tensor(values.data(), {1});
  Number five(5.0);
  LAUNCH_ON(stream, aclnnInplaceFillScalar, tensor, five);
  OK(aclrtRecordEvent(event, stream));
  child.say("recorded");
  CHECK_EQUAL(child.hear(), std::string("waiting"));
  softnpu_gate(stream, 0);
  CHECK_EQUAL(child.hear(), std::to_string(5.0f));
  CHECK_EQUAL(child.join(), 0);
  OK(aclrtIpcMemClose(key));
}

CHILD_PROGRAM(lend_event_and_end) {
  SharedEventHandle event;
  StreamHandle stream;
  softnpu_gate(stream, 1);
  OK(aclrtRecordEvent(event, stream));
  child_says(handle_text(event));
  child_hears();
  _exit(0);
}

TEST("waiting for an event of a process that has ended is an error, not a wait for ever") {
  ChildProcess child("lend_event_and_end");
  aclrtEvent event = open_event(child.hear());
  StreamHandle stream;
  OK(aclrtStreamWaitEvent(stream, event));
  child.say("end");
  CHECK_EQUAL(child.join(), 0);
  FAILS(aclrtSynchronizeStream(stream), 507022, "has ended");
  FAILS(aclrtSynchronizeEvent(event), 507022, "has ended");
  OK(aclrtDestroyEvent(event));
}

TEST("only events made for it are shared between processes") {
  EventHandle plain;
  aclrtIpcEventHandle handle = {};
  FAILS(aclrtIpcGetEventHandle(plain, &handle), 107000, "ACL_EVENT_IPC");
  aclrtEvent event = nullptr;
  FAILS(aclrtIpcOpenEventHandle(handle, &event), 107000, "not one of an event");
  FAILS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC | ACL_EVENT_SYNC), 100000, "alone");
  SharedEventHandle shared;
  float ms = 0;
  FAILS(aclrtEventElapsedTime(&ms, shared, shared), 207000, "shared between processes");
}
