// The error state of a thread: the last code (aclrtGetLastError) and message (aclGetRecentErrMsg).
#pragma once

#include <string>

#include "base/error.h"
#include "runtime/export.h"

namespace softnpu {

// Keeps `code` and `message` for the calling thread and returns the code, so that a check is one line:
//   if (size == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMalloc: size is 0");
SOFTNPU_SHARED int record_failure(int code, const std::string& message);

template <class... Parts>
[[gnu::cold, gnu::noinline]] int fail(int code, const Parts&... parts) {
  return record_failure(code, mt::join_text(parts...));
}

}  // namespace softnpu
