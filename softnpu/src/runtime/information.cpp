// What a program can ask about the device and the software, and small helpers of the ABI.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "base/half.h"
#include "runtime/device.h"
#include "runtime/element_size.h"
#include "runtime/error.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

const Soc& soc() { return *config().soc.load(std::memory_order_relaxed); }

int check_device(const char* function, int64_t index, const void* result) {
  if (result == nullptr) return fail(ACL_ERROR_INVALID_PARAM, function, ": the result pointer is NULL");
  return open_device(function, index > INT32_MAX ? -1 : int(index));
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT const char* aclrtGetSocName(void) { return soc().name; }

SOFTNPU_EXPORT aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  SOFTNPU_ENTER(aclrtGetVersion);
  if (majorVersion == nullptr || minorVersion == nullptr || patchVersion == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetVersion: a result pointer is NULL");
  *majorVersion = 1, *minorVersion = 15, *patchVersion = 0;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  SOFTNPU_ENTER(aclrtGetRunMode);
  if (runMode == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetRunMode: runMode is NULL");
  *runMode = ACL_HOST;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  SOFTNPU_ENTER(aclrtGetDeviceInfo, deviceId, attr);
  if (const int code = check_device("aclrtGetDeviceInfo", deviceId, value)) return code;
  switch (attr) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM: *value = soc().cpu_cores; break;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM: *value = soc().cube_cores; break;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM: *value = soc().vector_cores; break;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: *value = int64_t(device(int(deviceId)).memory.capacity()); break;
    case ACL_DEV_ATTR_L2_CACHE_SIZE: *value = soc().l2_bytes; break;
    case ACL_DEV_ATTR_PHY_CHIP_ID: *value = deviceId; break;
    case ACL_DEV_ATTR_IS_VIRTUAL: *value = 0; break;
    default:
      return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtGetDeviceInfo: attribute ", int(attr),
                  " is not emulated by the software NPU");
  }
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  SOFTNPU_ENTER(aclGetDeviceCapability, deviceId, deviceInfo);
  if (const int code = check_device("aclGetDeviceCapability", deviceId, value)) return code;
  switch (deviceInfo) {
    case ACL_DEVICE_INFO_AI_CORE_NUM: *value = soc().cube_cores; break;
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM: *value = soc().vector_cores; break;
    case ACL_DEVICE_INFO_L2_SIZE: *value = soc().l2_bytes; break;
    default:
      return fail(ACL_ERROR_INVALID_PARAM, "aclGetDeviceCapability: ", int(deviceInfo),
                  " is no aclDeviceInfo");
  }
  return ACL_SUCCESS;
}

// A stream that has work counts as full use: the software NPU has no clock of its own to take a share of.
SOFTNPU_EXPORT aclError aclrtGetDeviceUtilizationRate(int32_t deviceId,
                                                      aclrtUtilizationInfo* utilizationInfo) {
  SOFTNPU_ENTER(aclrtGetDeviceUtilizationRate, deviceId);
  if (const int code = check_device("aclrtGetDeviceUtilizationRate", deviceId, utilizationInfo)) return code;
  bool busy = false;
  for_each_stream(deviceId, [&](Stream& stream) { busy = busy || !stream.idle(); });
  const DeviceMemory& memory = device(deviceId).memory;
  utilizationInfo->cubeUtilization = utilizationInfo->vectorUtilization = busy ? 100 : 0;
  utilizationInfo->aicpuUtilization = 0;
  utilizationInfo->memoryUtilization = int32_t(100.0 * double(memory.used()) / double(memory.capacity()));
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo,
                                             size_t inputNum, size_t* outputNum) {
  SOFTNPU_ENTER(aclrtGetMemUsageInfo, deviceId, inputNum);
  if (outputNum == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetMemUsageInfo: outputNum is NULL");
  if (const int code = check_device("aclrtGetMemUsageInfo", deviceId, memUsageInfo)) return code;
  *outputNum = inputNum == 0 ? 0 : 1;
  if (inputNum == 0) return ACL_SUCCESS;
  const DeviceMemory& memory = device(deviceId).memory;
  *memUsageInfo = {};
  std::snprintf(memUsageInfo->name, sizeof memUsageInfo->name, "APP");
  memUsageInfo->curMemSize = memory.used();
  memUsageInfo->memPeakSize = memory.peak();
  return ACL_SUCCESS;
}

// The same for a device in every process of a machine, as programs tell devices apart by it.
SOFTNPU_EXPORT aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid) {
  SOFTNPU_ENTER(aclrtDeviceGetUuid, deviceId);
  if (const int code = check_device("aclrtDeviceGetUuid", deviceId, uuid)) return code;
  *uuid = {};
  std::snprintf(uuid->bytes, sizeof uuid->bytes, "softnpu-%07d", deviceId);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t* const logicDevId) {
  SOFTNPU_ENTER(aclrtGetLogicDevIdByUserDevId, userDevid);
  if (const int code = check_device("aclrtGetLogicDevIdByUserDevId", userDevid, logicDevId)) return code;
  *logicDevId = userDevid;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId,
                                                 int32_t peerDeviceId) {
  SOFTNPU_ENTER(aclrtDeviceCanAccessPeer, deviceId, peerDeviceId);
  if (const int code = check_device("aclrtDeviceCanAccessPeer", deviceId, canAccessPeer)) return code;
  if (const int code = open_device("aclrtDeviceCanAccessPeer", peerDeviceId)) return code;
  *canAccessPeer = deviceId != peerDeviceId;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  SOFTNPU_ENTER(aclrtDeviceEnablePeerAccess, peerDeviceId, flags);
  if (flags != 0)
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtDeviceEnablePeerAccess: flags is ", flags, ", wanted 0");
  const int mine = current_device("aclrtDeviceEnablePeerAccess");
  if (mine < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  if (const int code = open_device("aclrtDeviceEnablePeerAccess", peerDeviceId)) return code;
  if (mine == peerDeviceId)
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtDeviceEnablePeerAccess: device ", mine,
                " is not its own peer");
  device(mine).peers.fetch_or(uint64_t(1) << peerDeviceId);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  SOFTNPU_ENTER_CLEANUP(aclrtDeviceDisablePeerAccess, peerDeviceId);
  const int mine = current_device("aclrtDeviceDisablePeerAccess");
  if (mine < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  if (const int code = open_device("aclrtDeviceDisablePeerAccess", peerDeviceId)) return code;
  device(mine).peers.fetch_and(~(uint64_t(1) << peerDeviceId));
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t* status) {
  SOFTNPU_ENTER(aclrtDevicePeerAccessStatus, deviceId, peerDeviceId);
  if (const int code = check_device("aclrtDevicePeerAccessStatus", deviceId, status)) return code;
  if (const int code = open_device("aclrtDevicePeerAccessStatus", peerDeviceId)) return code;
  *status = deviceId != peerDeviceId && can_reach(peerDeviceId, deviceId);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT size_t aclDataTypeSize(aclDataType dataType) { return element_bits(dataType) / 8; }

SOFTNPU_EXPORT float aclFloat16ToFloat(aclFloat16 value) { return mt::Half::to_float(value); }

SOFTNPU_EXPORT aclFloat16 aclFloatToFloat16(float value) { return mt::Half::from_float(value); }

// Programs log through the runtime; the lines are shown when asked for, as with a card.
SOFTNPU_EXPORT void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line,
                              const char* fmt, ...) {
  static const char* shown = std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT");
  if (shown == nullptr || shown[0] != '1' || fmt == nullptr) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, fmt);
  std::vsnprintf(text, sizeof text, fmt, arguments);
  va_end(arguments);
  std::fprintf(stdout, "[%d] %s:%u %s: %s\n", int(logLevel), file == nullptr ? "?" : file, line,
               func == nullptr ? "?" : func, text);
}
