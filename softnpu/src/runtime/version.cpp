// Which CANN this is. The names and signatures are those of its headers of August 2026.
#include <cstdio>
#include <cstring>

#include "acl_abi.h"
#include "runtime/error.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

constexpr const char* kVersion = "9.1.0";
constexpr const char *kMajor = "9", *kMinor = "1", *kPatch = "0";
constexpr int32_t kVersionNumber = 90100000;

constexpr aclCannAttr kAttributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE};

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  SOFTNPU_ENTER(aclsysGetCANNVersion, name);
  if (version == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclsysGetCANNVersion: version is NULL");
  if (name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER)
    return fail(ACL_ERROR_INVALID_PARAM, "aclsysGetCANNVersion: name is ", int(name), ", wanted 0 to 7");
  *version = {};
  std::snprintf(version->version, sizeof version->version, "%s", kVersion);
  std::snprintf(version->majorVersion, sizeof version->majorVersion, "%s", kMajor);
  std::snprintf(version->minorVersion, sizeof version->minorVersion, "%s", kMinor);
  std::snprintf(version->releaseVersion, sizeof version->releaseVersion, "%s", kPatch);
  return ACL_SUCCESS;
}

// Every package has the same version here.
SOFTNPU_EXPORT aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  SOFTNPU_ENTER(aclsysGetVersionStr, pkgName);
  if (pkgName == nullptr || versionStr == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclsysGetVersionStr: pkgName and versionStr must not be NULL");
  std::snprintf(versionStr, ACL_PKG_VERSION_MAX_SIZE, "%s", kVersion);
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum) {
  SOFTNPU_ENTER(aclsysGetVersionNum, pkgName);
  if (pkgName == nullptr || versionNum == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclsysGetVersionNum: pkgName and versionNum must not be NULL");
  *versionNum = kVersionNumber;
  return ACL_SUCCESS;
}

SOFTNPU_EXPORT aclError aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num) {
  SOFTNPU_ENTER(aclGetCannAttributeList);
  if (cannAttrList == nullptr || num == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, "aclGetCannAttributeList: cannAttrList and num must not be NULL");
  *cannAttrList = kAttributes;
  *num = std::size(kAttributes);
  return ACL_SUCCESS;
}

// inf and nan: yes. bfloat16: yes. Operators compiled at run time: none.
SOFTNPU_EXPORT aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
  SOFTNPU_ENTER(aclGetCannAttribute, cannAttr);
  if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclGetCannAttribute: value is NULL");
  switch (cannAttr) {
    case ACL_CANN_ATTR_INF_NAN:
    case ACL_CANN_ATTR_BF16: *value = 1; return ACL_SUCCESS;
    case ACL_CANN_ATTR_JIT_COMPILE: *value = 0; return ACL_SUCCESS;
    default:
      return fail(ACL_ERROR_INVALID_PARAM, "aclGetCannAttribute: ", int(cannAttr), " is no aclCannAttr");
  }
}
