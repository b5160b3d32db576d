// HCCL, loaded at run time from where AscendCL came from. Types come from the generated ABI header; nothing is linked.
#pragma once

#include <string>

#include "hccl_abi.h"

namespace mt::npu {

// Without one of these there are no collectives.
#define MT_HCCL_REQUIRED(X) \
  X(HcclGetErrorString)     \
  X(HcclGetRootInfo)        \
  X(HcclCommInitRootInfo)   \
  X(HcclCommDestroy)        \
  X(HcclGetCommAsyncError)  \
  X(HcclAllReduce)          \
  X(HcclBroadcast)          \
  X(HcclReduce)             \
  X(HcclAllGather)          \
  X(HcclReduceScatter)      \
  X(HcclScatter)            \
  X(HcclAlltoAllV)          \
  X(HcclSend)               \
  X(HcclRecv)               \
  X(HcclBarrier)

// Null where a version of the library lacks them.
#define MT_HCCL_OPTIONAL(X) X(HcclCommInitRootInfoConfig)

struct HcclApi {
#define X(name) decltype(&::name) name = nullptr;
  MT_HCCL_REQUIRED(X)
  MT_HCCL_OPTIONAL(X)
#undef X
};

// The library; the first call loads it. Throws an error that names what is missing.
const HcclApi& hccl();
// Why there is no usable library; empty: there is one.
std::string hccl_problem();

// Throws for a code that is not 0: the function, the code and its meaning, the library's message.
[[noreturn, gnu::cold]] void fail_hccl(HcclResult code, const char* function);
inline void check_hccl(HcclResult code, const char* function) {
  if (code != HCCL_SUCCESS) [[unlikely]]
    fail_hccl(code, function);
}

}  // namespace mt::npu
