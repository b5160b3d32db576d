// The library in its process: start, initialisation, fork and exit.
#include <pthread.h>

#include <cstdlib>

#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"
#include "softnpu_control.h"

namespace softnpu {
namespace {

std::atomic<uint64_t> init_count{0};

// Note [Fork and exit]
// Stream threads do not exist in a forked child, so a child of a process that used a device can only be told
// so: every call fails at its first line, without taking a lock another thread may have held at the fork. At
// exit no stream is drained; threads stop between two tasks and end with the process. State they use is never
// destroyed.
void after_fork_in_child() {
  if (devices_open()) hook_flags.fetch_or(kForked);
}

void at_exit() {
  if (!hooked(kForked)) park_all_streams();
}

// Settings such as SOFTNPU_TRACE must hold from the first call, whichever that is.
[[gnu::constructor]] void at_load() {
  config();
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  std::atexit(at_exit);
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclInit(const char* configPath) {
  SOFTNPU_ENTER(aclInit, configPath);
  if (!config().problem.empty()) return fail(ACL_ERROR_INVALID_PARAM, "aclInit: ", config().problem);
  if (init_count.fetch_add(1) != 0)
    return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: called again without aclFinalize");
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclFinalize(void) {
  SOFTNPU_ENTER_CLEANUP(aclFinalize);
  if (init_count.exchange(0) == 0)
    return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: called without aclInit, or called twice");
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclFinalizeReference(uint64_t* refCount) {
  SOFTNPU_ENTER_CLEANUP(aclFinalizeReference);
  uint64_t count = init_count.load();
  do {
    if (count == 0) return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalizeReference: called without aclInit");
  } while (!init_count.compare_exchange_weak(count, count - 1));
  if (refCount != nullptr) *refCount = count - 1;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT void softnpu_set_delay(uint32_t microseconds) { config().delay_us.store(microseconds); }

SOFTNPU_EXPORT void softnpu_set_poison(int on) { config().poison.store(on != 0); }
