// NVTX: ranges and marks for NVIDIA's own tools (Nsight Systems and Compute), which do nothing unless one is attached.
#pragma once

#include <cstdint>

namespace mt::cuda::nvtx {

#define MT_NVTX_FUNCTIONS(X)                                   \
  X(push, "nvtxRangePushA", int, (const char* message))        \
  X(pop, "nvtxRangePop", int, ())                              \
  X(start, "nvtxRangeStartA", uint64_t, (const char* message)) \
  X(end, "nvtxRangeEnd", void, (uint64_t range))               \
  X(mark, "nvtxMarkA", void, (const char* message))

struct Api {
#define X(name, symbol, result, parameters) result(*name) parameters = nullptr;
  MT_NVTX_FUNCTIONS(X)
#undef X
};

const Api& api();  // opens the library; throws where it is missing

}  // namespace mt::cuda::nvtx
