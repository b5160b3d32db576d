// Device kernels as functions of C, for tests that load them. Included after emulated.h and the device's headers, once in a
// library, which has no other part of what those call.
#pragma once

namespace mt::kernels {
void fail_unsupported(const char*, DType) { std::abort(); }
namespace math {
void fail_zero_division() { std::abort(); }
}  // namespace math
}  // namespace mt::kernels

using namespace mt;
using namespace mt::cuda;

#define MT_KERNEL(NAME, CALL, ...)                                                             \
  extern "C" void NAME(const CALL* call, unsigned gx, unsigned gy, unsigned bx, unsigned by) { \
    emulated::launch({gx, gy, 1}, {bx, by, 1}, [call] { __VA_ARGS__(*call); });                \
  }
