// The kernels of attention by name, for tests that run them on the host.
#include "emulated.h"

#include "backends/cuda/device/attention.h"

#include "named_kernels.h"

#define MT_ATTENTION(NAME, T, DIM, MASKED)                                                           \
  MT_KERNEL(forward_##NAME##_##DIM##_##MASKED, AttentionCall, attention_forward<T, DIM, MASKED>)     \
  MT_KERNEL(keys_##NAME##_##DIM##_##MASKED, AttentionCall, attention_backward<T, DIM, MASKED, true>) \
  MT_KERNEL(queries_##NAME##_##DIM##_##MASKED, AttentionCall, attention_backward<T, DIM, MASKED, false>)
MT_ATTENTION(float, float, 32, true)
MT_ATTENTION(float, float, 64, false)
MT_ATTENTION(float, float, 128, false)
MT_ATTENTION(half, Half, 64, true)
MT_ATTENTION(bfloat16, BFloat16, 128, false)
MT_KERNEL(prepared_float, AttentionCall, attention_prepared<float>)
MT_KERNEL(prepared_half, AttentionCall, attention_prepared<Half>)
MT_KERNEL(prepared_bfloat16, AttentionCall, attention_prepared<BFloat16>)
