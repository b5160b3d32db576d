// How an operation of a communicator fails: a code of HCCL's, and a message that says what was got and wanted.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

#include "hccl_abi.h"

namespace softnpu::hccl {

struct Failure : std::runtime_error {
  Failure(HcclResult result, const std::string& message) : std::runtime_error(message), code(result) {}
  HcclResult code;
};

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void refuse(HcclResult code, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw Failure(code, text.str());
}

}  // namespace softnpu::hccl
