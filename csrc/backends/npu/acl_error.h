// What an error of AscendCL means, in words.
#pragma once

#include <string>

namespace mt::npu {

// The function, the code's name and meaning, the library's own message and, for a function that waits, what was
// launched; with `advice`, what to do next.
std::string describe_acl_error(int code, const std::string& function, bool advice);

}  // namespace mt::npu
