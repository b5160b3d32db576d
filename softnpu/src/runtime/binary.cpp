// Kernels compiled for the card. The software NPU cannot run them; torch_npu links the functions, so they
// exist and say so.
#include "acl_abi.h"
#include "runtime/error.h"
#include "runtime/hook.h"

namespace {

int refuse(const char* function) {
  return softnpu::fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, function,
                       ": kernels compiled for an Ascend card do not run on the software NPU");
}

}  // namespace

SOFTNPU_EXPORT aclError aclrtBinaryLoadFromData(const void* data, size_t length,
                                                const aclrtBinaryLoadOptions* options,
                                                aclrtBinHandle* binHandle) {
  SOFTNPU_ENTER(aclrtBinaryLoadFromData, data, length);
  return refuse("aclrtBinaryLoadFromData");
}

SOFTNPU_EXPORT aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, const char* kernelName,
                                               aclrtFuncHandle* funcHandle) {
  SOFTNPU_ENTER(aclrtBinaryGetFunction, binHandle, kernelName);
  return refuse("aclrtBinaryGetFunction");
}

SOFTNPU_EXPORT aclError aclrtGetFunctionAddr(aclrtFuncHandle funcHandle, void** aicAddr, void** aivAddr) {
  SOFTNPU_ENTER(aclrtGetFunctionAddr, funcHandle);
  return refuse("aclrtGetFunctionAddr");
}
