// The kernels of attention by name, for tests that run them on the host.
#include "emulated.h"

#include "backends/cuda/device/attention.h"

#include "named_kernels.h"

// Each with what it wants of a launch: rows and threads of a block.
#define MT_SHAPED(NAME, TILE, ...)                                 \
  extern "C" int rows_of_##NAME() { return TILE::kOwnRows; }       \
  extern "C" int threads_of_##NAME() { return TILE::kWarps * 32; } \
  MT_KERNEL(NAME, AttentionCall, __VA_ARGS__)
#define MT_ATTENTION(NAME, T, DIM, MASKED)                                                             \
  using Forward##NAME##DIM = ForwardTile<sizeof(T), DIM>;                                              \
  using Keys##NAME##DIM = BackwardTile<sizeof(T), DIM, true>;                                          \
  using Queries##NAME##DIM = BackwardTile<sizeof(T), DIM, false>;                                      \
  MT_SHAPED(forward_##NAME##_##DIM##_##MASKED, Forward##NAME##DIM, attention_forward<T, DIM, MASKED>)  \
  MT_SHAPED(keys_##NAME##_##DIM##_##MASKED, Keys##NAME##DIM, attention_backward<T, DIM, MASKED, true>) \
  MT_SHAPED(queries_##NAME##_##DIM##_##MASKED, Queries##NAME##DIM, attention_backward<T, DIM, MASKED, false>)
MT_ATTENTION(float, float, 32, true)
MT_ATTENTION(float, float, 64, false)
MT_ATTENTION(float, float, 128, false)
MT_ATTENTION(half, Half, 64, true)
MT_ATTENTION(bfloat16, BFloat16, 64, false)
MT_ATTENTION(bfloat16, BFloat16, 128, false)
MT_KERNEL(prepared_float, AttentionCall, attention_prepared<float>)
MT_KERNEL(prepared_half, AttentionCall, attention_prepared<Half>)
MT_KERNEL(prepared_bfloat16, AttentionCall, attention_prepared<BFloat16>)
