#include "runtime/error.h"

#include "acl_abi.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

struct ThreadErrors {
  int last = ACL_SUCCESS;
  bool has_message = false;
  std::string message;
  std::string handed_out;  // what the last aclGetRecentErrMsg returned a pointer into
};

// Destructors of other thread-local objects may still make failing calls while a thread ends: then `ended` is
// set and the message is dropped instead of touching a destroyed string.
thread_local ThreadErrors* errors = nullptr;
thread_local bool ended = false;

struct Cleanup {
  ~Cleanup() {
    delete errors;
    errors = nullptr;
    ended = true;
  }
  void arm() {}
};
thread_local Cleanup cleanup;

ThreadErrors* thread_errors() {
  if (errors == nullptr && !ended) {
    cleanup.arm();
    errors = new ThreadErrors;
  }
  return errors;
}

}  // namespace

int record_failure(int code, const std::string& message) {
  if (ThreadErrors* mine = thread_errors()) {
    mine->last = code;
    mine->has_message = true;
    mine->message = message;
  }
  return code;
}

}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT const char* aclGetRecentErrMsg(void) {
  if (errors == nullptr || !errors->has_message) return nullptr;
  errors->has_message = false;
  errors->handed_out.swap(errors->message);
  return errors->handed_out.c_str();
}

SOFTNPU_EXPORT aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  if (level != ACL_RT_THREAD_LEVEL)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtPeekAtLastError: level is ", int(level),
                ", wanted 0 (thread)");
  return errors == nullptr ? ACL_SUCCESS : errors->last;
}

SOFTNPU_EXPORT aclError aclrtGetLastError(aclrtLastErrLevel level) {
  const aclError last = aclrtPeekAtLastError(level);
  if (errors != nullptr) errors->last = ACL_SUCCESS;
  return last;
}
