// How an operation of a communicator fails: a code of HCCL's, and a message that says what was got and wanted.
#pragma once

#include <stdexcept>
#include <string>

#include "base/error.h"
#include "hccl_abi.h"

namespace softnpu::hccl {

struct Failure : std::runtime_error {
  Failure(HcclResult result, const std::string& message) : std::runtime_error(message), code(result) {}
  HcclResult code;
};

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void refuse(HcclResult code, const Parts&... parts) {
  throw Failure(code, mt::join_text(parts...));
}

}  // namespace softnpu::hccl
