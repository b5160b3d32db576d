// Functions that programs link but that have no meaning without a card: launching device binaries, and dumping
// what its operators read and write. They refuse, so that nobody takes silence for success.
#include "acl_abi.h"
#include "runtime/error.h"
#include "runtime/export.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

int refuse(int code, const char* function, const char* reason) {
  return fail(code, function, ": ", reason, ", which the software NPU does not emulate");
}

int refuse_kernel(const char* function) {
  return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, function, "this launches a binary for Ascend cores");
}

int refuse_dump(const char* function) {
  return refuse(ACL_ERROR_FEATURE_UNSUPPORTED, function, "this dumps the tensors of a card's operators");
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT rtError_t rtDevBinaryRegister(const rtDevBinary_t* bin, void** hdl) {
  SOFTNPU_ENTER(rtDevBinaryRegister);
  return refuse_kernel("rtDevBinaryRegister");
}

SOFTNPU_EXPORT rtError_t rtFunctionRegister(void* binHandle, const void* stubFunc, const char* stubName,
                                            const void* kernelInfoExt, uint32_t funcMode) {
  SOFTNPU_ENTER(rtFunctionRegister, stubName);
  return refuse_kernel("rtFunctionRegister");
}

SOFTNPU_EXPORT rtError_t rtKernelLaunch(const void* stubFunc, uint32_t numBlocks, void* args,
                                        uint32_t argsSize, rtSmDesc_t* smDesc, rtStream_t stm) {
  SOFTNPU_ENTER(rtKernelLaunch, numBlocks, argsSize, stm);
  return refuse_kernel("rtKernelLaunch");
}

SOFTNPU_EXPORT rtError_t rtGetC2cCtrlAddr(uint64_t* addr, uint32_t* len) {
  SOFTNPU_ENTER(rtGetC2cCtrlAddr);
  return refuse_kernel("rtGetC2cCtrlAddr");
}

SOFTNPU_EXPORT aclError aclmdlInitDump(void) {
  SOFTNPU_ENTER(aclmdlInitDump);
  return refuse_dump("aclmdlInitDump");
}

SOFTNPU_EXPORT aclError aclmdlSetDump(const char* dumpCfgPath) {
  SOFTNPU_ENTER(aclmdlSetDump, dumpCfgPath);
  return refuse_dump("aclmdlSetDump");
}

SOFTNPU_EXPORT aclError aclmdlFinalizeDump(void) {
  SOFTNPU_ENTER(aclmdlFinalizeDump);
  return refuse_dump("aclmdlFinalizeDump");
}
