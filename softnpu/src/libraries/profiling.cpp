// What programs report to CANN's profiler. No profiler runs in the software NPU, so reports are taken and
// dropped, and a registered callback is never called: that is what they do on a card while nothing profiles.
#include <chrono>
#include <string_view>

#include "acl_abi.h"
#include "runtime/error.h"
#include "runtime/export.h"
#include "runtime/hook.h"

using namespace softnpu;

SOFTNPU_EXPORT int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle) {
  SOFTNPU_ENTER(MsprofRegisterCallback, moduleId);
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "MsprofRegisterCallback: handle is NULL");
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT int32_t MsprofReportApi(uint32_t nonPersistantFlag, const MsprofApi* api) {
  SOFTNPU_ENTER(MsprofReportApi, nonPersistantFlag);
  if (api == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "MsprofReportApi: api is NULL");
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT int32_t MsprofReportCompactInfo(uint32_t nonPersistantFlag, const void* data,
                                               uint32_t length) {
  SOFTNPU_ENTER(MsprofReportCompactInfo, nonPersistantFlag, length);
  if (data == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "MsprofReportCompactInfo: data is NULL");
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT int32_t MsprofReportAdditionalInfo(uint32_t nonPersistantFlag, const void* data,
                                                  uint32_t length) {
  SOFTNPU_ENTER(MsprofReportAdditionalInfo, nonPersistantFlag, length);
  if (data == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "MsprofReportAdditionalInfo: data is NULL");
  return ACL_SUCCESS;
}

// A number that stands for a name (64-bit FNV-1a); never 0, which means none.
SOFTNPU_EXPORT uint64_t MsprofGetHashId(const char* hashInfo, size_t length) {
  if (hashInfo == nullptr) return 0;
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : std::string_view(hashInfo, length))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash == 0 ? 1 : hash;
}

SOFTNPU_EXPORT uint64_t MsprofSysCycleTime(void) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}
