// What an error of AscendCL means, in words.
#pragma once

#include <string>

#include "base/error.h"

namespace mt::npu {

// A call of AscendCL that failed.
class AclError : public Error {
 public:
  AclError(int code, const std::string& message) : Error(ErrorKind::runtime, message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// The function, the code's name and meaning, the library's own message and, for a function that waits, what was
// launched; with `advice`, what to do next.
std::string describe_acl_error(int code, const std::string& function, bool advice);

}  // namespace mt::npu
