// Modes and limits that a program sets and asks for. Most have no meaning in software: they are checked and
// remembered. One has: a stream that stops at the first failure.
#include "runtime/config.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

std::atomic<int64_t> process_options[kSysParamOptions] = {};
std::atomic<uint64_t> execute_limit_us{0};
// The stream whose limits this thread uses (aclrtUseStreamResInCurrentThread), or NULL.
thread_local void* limits_from = nullptr;

int check_option(const char* function, aclSysParamOpt option) {
  if (option >= 0 && option < kSysParamOptions) return 0;
  return fail(ACL_ERROR_INVALID_PARAM, function, ": opt is ", int(option), ", wanted 0 to ",
              kSysParamOptions - 1);
}

int check_resource(const char* function, aclrtDevResLimitType type) {
  if (type == ACL_RT_DEV_RES_CUBE_CORE || type == ACL_RT_DEV_RES_VECTOR_CORE) return 0;
  return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": type is ", int(type),
              ", wanted 0 (cube cores) or 1 (vector cores)");
}

uint32_t hardware_cores(aclrtDevResLimitType type) {
  const Soc& soc = *config().soc.load(std::memory_order_relaxed);
  return uint32_t(type == ACL_RT_DEV_RES_CUBE_CORE ? soc.cube_cores : soc.vector_cores);
}

int check_cores(const char* function, aclrtDevResLimitType type, uint32_t value) {
  if (const int code = check_resource(function, type)) return code;
  if (value >= 1 && value <= hardware_cores(type)) return 0;
  return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": value is ", value, ", wanted 1 to ",
              hardware_cores(type));
}

uint32_t device_cores(int index, aclrtDevResLimitType type) {
  const uint32_t limit = device(index).core_limits[type].load();
  return limit != 0 ? limit : hardware_cores(type);
}

uint32_t stream_cores(const Stream& stream, aclrtDevResLimitType type) {
  const uint32_t limit = stream.core_limits[type].load();
  return limit != 0 ? limit : device_cores(stream.device, type);
}

template <class T>
int check_result(const char* function, const T* result) {
  return result != nullptr ? 0 : fail(ACL_ERROR_INVALID_PARAM, function, ": the result pointer is NULL");
}

int set_failure_mode(const char* function, Stream& stream, uint64_t mode) {
  if (mode > 1)
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": mode is ", mode,
                ", wanted 0 (continue on failure) or 1 (stop on failure)");
  stream.failure_mode.store(mode);
  if (mode == 1) stream.context.stops_on_failure.store(true);  // holds for all streams of a context
  return ACL_SUCCESS;
}

int set_overflow_switch(const char* function, Stream& stream, uint32_t flag) {
  if (flag > 1) return fail(ACL_ERROR_RT_PARAM_INVALID, function, ": flag is ", flag, ", wanted 0 or 1");
  stream.overflow_switch.store(flag);
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  SOFTNPU_ENTER(aclrtSetSysParamOpt, opt, value);
  if (const int code = check_option("aclrtSetSysParamOpt", opt)) return code;
  process_options[opt].store(value);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  SOFTNPU_ENTER(aclrtGetSysParamOpt, opt);
  if (const int code = check_option("aclrtGetSysParamOpt", opt)) return code;
  if (const int code = check_result("aclrtGetSysParamOpt", value)) return code;
  *value = process_options[opt].load();
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  SOFTNPU_ENTER(aclrtCtxSetSysParamOpt, opt, value);
  if (const int code = check_option("aclrtCtxSetSysParamOpt", opt)) return code;
  Context* context = current_context("aclrtCtxSetSysParamOpt");
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  context->options[opt].store(value);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  SOFTNPU_ENTER(aclrtCtxGetSysParamOpt, opt);
  if (const int code = check_option("aclrtCtxGetSysParamOpt", opt)) return code;
  if (const int code = check_result("aclrtCtxGetSysParamOpt", value)) return code;
  const Context* context = current_context("aclrtCtxGetSysParamOpt");
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  const int64_t kept = context->options[opt].load();
  if (kept == kOptionNotSet)
    return fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "aclrtCtxGetSysParamOpt: option ", int(opt),
                " was not set in this context");
  *value = kept;
  return ACL_SUCCESS;
}

// How a result that overflows looks. The software NPU always gives inf and nan.
SOFTNPU_EXPORT aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  SOFTNPU_ENTER(aclrtSetDeviceSatMode, mode);
  if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN)
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSetDeviceSatMode: mode is ", int(mode),
                ", wanted 0 (saturation) or 1 (inf and nan)");
  const int index = current_device("aclrtSetDeviceSatMode");
  if (index < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  device(index).saturation.store(mode);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  SOFTNPU_ENTER(aclrtGetDeviceSatMode);
  if (const int code = check_result("aclrtGetDeviceSatMode", mode)) return code;
  const int index = current_device("aclrtGetDeviceSatMode");
  if (index < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  *mode = aclrtFloatOverflowMode(device(index).saturation.load());
  return ACL_SUCCESS;
}

// How long an operator may take. Operators of the software NPU are as slow as the host: none is ended.
SOFTNPU_EXPORT aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
  SOFTNPU_ENTER(aclrtSetOpExecuteTimeOut, timeout);
  execute_limit_us.store(uint64_t(timeout) * 1000000);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout) {
  SOFTNPU_ENTER(aclrtSetOpExecuteTimeOutWithMs, timeout);
  execute_limit_us.store(uint64_t(timeout) * 1000);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) {
  SOFTNPU_ENTER(aclrtSetOpExecuteTimeOutV2, timeout);
  if (const int code = check_result("aclrtSetOpExecuteTimeOutV2", actualTimeout)) return code;
  execute_limit_us.store(timeout);
  *actualTimeout = timeout;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetOpExecuteTimeout(uint32_t* const timeoutMs) {
  SOFTNPU_ENTER(aclrtGetOpExecuteTimeout);
  if (const int code = check_result("aclrtGetOpExecuteTimeout", timeoutMs)) return code;
  *timeoutMs = uint32_t(execute_limit_us.load() / 1000);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  SOFTNPU_ENTER(aclrtSetStreamFailureMode, stream, mode);
  int code = 0;
  Stream* found = use_stream("aclrtSetStreamFailureMode", stream, &code);
  return found == nullptr ? code : set_failure_mode("aclrtSetStreamFailureMode", *found, mode);
}

SOFTNPU_EXPORT aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  SOFTNPU_ENTER(aclrtSetStreamOverflowSwitch, stream, flag);
  int code = 0;
  Stream* found = use_stream("aclrtSetStreamOverflowSwitch", stream, &code);
  return found == nullptr ? code : set_overflow_switch("aclrtSetStreamOverflowSwitch", *found, flag);
}

SOFTNPU_EXPORT aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
  SOFTNPU_ENTER(aclrtGetStreamOverflowSwitch, stream);
  if (const int code = check_result("aclrtGetStreamOverflowSwitch", flag)) return code;
  int code = 0;
  const Stream* found = use_stream("aclrtGetStreamOverflowSwitch", stream, &code);
  if (found == nullptr) return code;
  *flag = found->overflow_switch.load();
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                                aclrtStreamAttrValue* value) {
  SOFTNPU_ENTER(aclrtSetStreamAttribute, stream, stmAttrType);
  if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetStreamAttribute: value is NULL");
  int code = 0;
  Stream* found = use_stream("aclrtSetStreamAttribute", stream, &code);
  if (found == nullptr) return code;
  switch (stmAttrType) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      return set_failure_mode("aclrtSetStreamAttribute", *found, value->failureMode);
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      return set_overflow_switch("aclrtSetStreamAttribute", *found, value->overflowSwitch);
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG: found->custom_tag.store(value->userCustomTag); break;
    case ACL_STREAM_ATTR_CACHE_OP_INFO: found->cache_op_info.store(value->cacheOpInfoSwitch); break;
    default:
      return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSetStreamAttribute: stmAttrType is ", int(stmAttrType),
                  ", wanted 1 to 4");
  }
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                                aclrtStreamAttrValue* value) {
  SOFTNPU_ENTER(aclrtGetStreamAttribute, stream, stmAttrType);
  if (const int code = check_result("aclrtGetStreamAttribute", value)) return code;
  int code = 0;
  const Stream* found = use_stream("aclrtGetStreamAttribute", stream, &code);
  if (found == nullptr) return code;
  *value = {};
  switch (stmAttrType) {
    case ACL_STREAM_ATTR_FAILURE_MODE: value->failureMode = found->failure_mode.load(); break;
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK: value->overflowSwitch = found->overflow_switch.load(); break;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG: value->userCustomTag = found->custom_tag.load(); break;
    case ACL_STREAM_ATTR_CACHE_OP_INFO: value->cacheOpInfoSwitch = found->cache_op_info.load(); break;
    case ACL_STREAM_ATTR_PRIORITY: value->streamPriority = found->priority; break;
    default:
      return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetStreamAttribute: stmAttrType is ", int(stmAttrType),
                  ", wanted 1 to 5");
  }
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  SOFTNPU_ENTER(aclrtSetDeviceResLimit, deviceId, type, value);
  if (const int code = open_device("aclrtSetDeviceResLimit", deviceId)) return code;
  if (const int code = check_cores("aclrtSetDeviceResLimit", type, value)) return code;
  device(deviceId).core_limits[type].store(value);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
  SOFTNPU_ENTER(aclrtGetDeviceResLimit, deviceId, type);
  if (const int code = check_result("aclrtGetDeviceResLimit", value)) return code;
  if (const int code = open_device("aclrtGetDeviceResLimit", deviceId)) return code;
  if (const int code = check_resource("aclrtGetDeviceResLimit", type)) return code;
  *value = device_cores(deviceId, type);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  SOFTNPU_ENTER_CLEANUP(aclrtResetDeviceResLimit, deviceId);
  if (const int code = open_device("aclrtResetDeviceResLimit", deviceId)) return code;
  for (auto& limit : device(deviceId).core_limits) limit.store(0);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                               uint32_t value) {
  SOFTNPU_ENTER(aclrtSetStreamResLimit, stream, type, value);
  if (const int code = check_cores("aclrtSetStreamResLimit", type, value)) return code;
  int code = 0;
  Stream* found = use_stream("aclrtSetStreamResLimit", stream, &code);
  if (found == nullptr) return code;
  found->core_limits[type].store(value);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                               uint32_t* value) {
  SOFTNPU_ENTER(aclrtGetStreamResLimit, stream, type);
  if (const int code = check_result("aclrtGetStreamResLimit", value)) return code;
  if (const int code = check_resource("aclrtGetStreamResLimit", type)) return code;
  int code = 0;
  const Stream* found = use_stream("aclrtGetStreamResLimit", stream, &code);
  if (found == nullptr) return code;
  *value = stream_cores(*found, type);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtResetStreamResLimit(aclrtStream stream) {
  SOFTNPU_ENTER_CLEANUP(aclrtResetStreamResLimit, stream);
  int code = 0;
  Stream* found = use_stream("aclrtResetStreamResLimit", stream, &code);
  if (found == nullptr) return code;
  for (auto& limit : found->core_limits) limit.store(0);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  SOFTNPU_ENTER(aclrtUseStreamResInCurrentThread, stream);
  int code = 0;
  const Stream* found = use_stream("aclrtUseStreamResInCurrentThread", stream, &code);
  if (found == nullptr) return code;
  limits_from = stream == nullptr ? found->context.default_stream_handle : stream;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
  SOFTNPU_ENTER_CLEANUP(aclrtUnuseStreamResInCurrentThread, stream);
  int code = 0;
  if (use_stream("aclrtUnuseStreamResInCurrentThread", stream, &code) == nullptr) return code;
  limits_from = nullptr;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  SOFTNPU_ENTER(aclrtGetResInCurrentThread, type);
  if (const int code = check_result("aclrtGetResInCurrentThread", value)) return code;
  if (const int code = check_resource("aclrtGetResInCurrentThread", type)) return code;
  const int index = current_device("aclrtGetResInCurrentThread");
  if (index < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  const Stream* stream = limits_from == nullptr ? nullptr : stream_table().find(limits_from);
  *value = stream == nullptr ? device_cores(index, type) : stream_cores(*stream, type);
  return ACL_SUCCESS;
}
