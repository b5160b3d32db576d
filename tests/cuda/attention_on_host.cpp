// The kernels of attention by name, for tests that run them on the host.
#include "emulated.h"

#include "backends/cuda/device/attention.h"

namespace mt::kernels {
void fail_unsupported(const char*, DType) { std::abort(); }
namespace math {
void fail_zero_division() { std::abort(); }
}  // namespace math
}  // namespace mt::kernels

using namespace mt;
using namespace mt::cuda;

#define MT_KERNEL(NAME, ...)                                                                            \
  extern "C" void NAME(const AttentionCall* call, unsigned gx, unsigned gy, unsigned bx, unsigned by) { \
    emulated::launch({gx, gy, 1}, {bx, by, 1}, [call] { __VA_ARGS__(*call); });                         \
  }
#define MT_ATTENTION(NAME, T, DIM, MASKED)                                            \
  MT_KERNEL(forward_##NAME##_##DIM##_##MASKED, attention_forward<T, DIM, MASKED>)     \
  MT_KERNEL(keys_##NAME##_##DIM##_##MASKED, attention_backward<T, DIM, MASKED, true>) \
  MT_KERNEL(queries_##NAME##_##DIM##_##MASKED, attention_backward<T, DIM, MASKED, false>)
MT_ATTENTION(float, float, 32, true)
MT_ATTENTION(float, float, 64, false)
MT_ATTENTION(float, float, 128, false)
MT_ATTENTION(half, Half, 64, true)
MT_ATTENTION(bfloat16, BFloat16, 128, false)
MT_KERNEL(prepared_float, attention_prepared<float>)
MT_KERNEL(prepared_half, attention_prepared<Half>)
MT_KERNEL(prepared_bfloat16, attention_prepared<BFloat16>)
