// AscendCL and ACLNN, loaded at run time. Types come from the generated ABI header; nothing is linked.
#pragma once

#include <atomic>
#include <string>

#include "acl_abi.h"

namespace mt::npu {

// Without one of these the libraries cannot be used at all.
#define MT_ACL_REQUIRED(X)       \
  X(aclInit)                     \
  X(aclGetRecentErrMsg)          \
  X(aclrtGetDeviceCount)         \
  X(aclrtSetDevice)              \
  X(aclrtResetDevice)            \
  X(aclrtGetDevice)              \
  X(aclrtSynchronizeDevice)      \
  X(aclrtGetCurrentContext)      \
  X(aclrtSetCurrentContext)      \
  X(aclrtCreateContext)          \
  X(aclrtDestroyContext)         \
  X(aclrtGetMemInfo)             \
  X(aclrtCreateStream)           \
  X(aclrtCreateStreamWithConfig) \
  X(aclrtDestroyStream)          \
  X(aclrtSynchronizeStream)      \
  X(aclrtStreamQuery)            \
  X(aclrtStreamWaitEvent)        \
  X(aclrtCreateEvent)            \
  X(aclrtCreateEventExWithFlag)  \
  X(aclrtDestroyEvent)           \
  X(aclrtRecordEvent)            \
  X(aclrtQueryEventStatus)       \
  X(aclrtSynchronizeEvent)       \
  X(aclrtEventElapsedTime)       \
  X(aclrtEventGetTimestamp)      \
  X(aclrtMalloc)                 \
  X(aclrtFree)                   \
  X(aclrtMallocHost)             \
  X(aclrtFreeHost)               \
  X(aclrtMemcpy)                 \
  X(aclrtMemcpyAsync)            \
  X(aclrtMemset)                 \
  X(aclrtMemsetAsync)            \
  X(aclrtGetSocName)             \
  X(aclrtDeviceCanAccessPeer)    \
  X(aclrtDeviceEnablePeerAccess) \
  X(aclCreateTensor)             \
  X(aclCreateScalar)             \
  X(aclCreateIntArray)           \
  X(aclCreateFloatArray)         \
  X(aclCreateBoolArray)          \
  X(aclCreateTensorList)         \
  X(aclCreateScalarList)         \
  X(aclDestroyTensor)            \
  X(aclDestroyScalar)            \
  X(aclDestroyIntArray)          \
  X(aclDestroyFloatArray)        \
  X(aclDestroyBoolArray)         \
  X(aclDestroyTensorList)        \
  X(aclDestroyScalarList)        \
  X(aclGetViewShape)             \
  X(aclDestroyAclOpExecutor)

// Null where a version of the libraries lacks them.
#define MT_ACL_OPTIONAL(X)             \
  X(aclFinalize)                       \
  X(aclrtGetVersion)                   \
  X(aclrtGetDeviceInfo)                \
  X(aclGetDeviceCapability)            \
  X(aclrtDeviceDisablePeerAccess)      \
  X(aclrtDeviceGetStreamPriorityRange) \
  X(aclrtGetDeviceUtilizationRate)     \
  X(aclrtReserveMemAddress)            \
  X(aclrtReleaseMemAddress)            \
  X(aclrtMallocPhysical)               \
  X(aclrtFreePhysical)                 \
  X(aclrtMapMem)                       \
  X(aclrtUnmapMem)                     \
  X(aclrtIpcGetEventHandle)            \
  X(aclrtIpcOpenEventHandle)           \
  X(aclrtCreateEventWithFlag)          \
  X(aclrtResetEvent)                   \
  X(aclmdlRICaptureBegin)              \
  X(aclmdlRICaptureEnd)                \
  X(aclmdlRICaptureGetInfo)            \
  X(aclmdlRICaptureTaskGrpBegin)       \
  X(aclmdlRICaptureTaskGrpEnd)         \
  X(aclmdlRICaptureTaskUpdateBegin)    \
  X(aclmdlRICaptureTaskUpdateEnd)      \
  X(aclmdlRIExecuteAsync)              \
  X(aclmdlRIDestroy)                   \
  X(aclmdlRIDebugJsonPrint)

struct AclApi {
#define X(name) decltype(&::name) name = nullptr;
  MT_ACL_REQUIRED(X)
  MT_ACL_OPTIONAL(X)
#undef X
  std::string folder;       // where the libraries were taken from; empty: the system's search path
  std::string loaded_from;  // of libascendcl.so
};

extern std::atomic<const AclApi*> g_acl;
[[noreturn]] void fail_not_loaded();

// The loaded libraries.
inline const AclApi& acl() {
  const AclApi* api = g_acl.load(std::memory_order_acquire);
  if (!api) [[unlikely]]
    fail_not_loaded();
  return *api;
}
inline bool acl_is_loaded() { return g_acl.load(std::memory_order_acquire) != nullptr; }

// Loads libascendcl, libnnopbase and libopapi from `folder`, or from the default search path when it is empty.
// Returns why it could not, or an empty text. A second call with the libraries loaded does nothing.
std::string load_acl(const std::string& folder);
// The address of a function of the loaded libraries, null if they lack it.
void* find_symbol(const char* name);

// Throws for a code that is not 0: the function, the code's name and meaning, the library's message, what to do.
[[noreturn, gnu::cold]] void fail_acl(int code, const char* function, const char* suffix = "");
// For a function that returned no object.
[[noreturn, gnu::cold]] void fail_null(const char* function);
inline void check(int code, const char* function) {
  if (code != 0) [[unlikely]]
    fail_acl(code, function);
}

}  // namespace mt::npu
