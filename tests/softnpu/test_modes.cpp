#include <cstring>
#include <thread>

#include "check.h"
#include "handles.h"

TEST("options of the process and of a context are separate") {
  int64_t value = -1;
  OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  CHECK_EQUAL(value, 0);
  FAILS(aclrtCtxGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value), 107021, "not set");
  OK(aclrtSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 1));
  FAILS(aclrtCtxGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value), 107021, "not set");
  OK(aclrtCtxSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 2));
  OK(aclrtCtxGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value));
  CHECK_EQUAL(value, 2);
  OK(aclrtGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value));
  CHECK_EQUAL(value, 1);
  OK(aclrtSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 0));
  FAILS(aclrtSetSysParamOpt(aclSysParamOpt(17), 1), 100000, "opt is 17");
}

TEST("modes of a device and of a stream are remembered and checked") {
  OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
  aclrtFloatOverflowMode mode;
  OK(aclrtGetDeviceSatMode(&mode));
  CHECK_EQUAL(int(mode), int(ACL_RT_OVERFLOW_MODE_SATURATION));
  OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
  FAILS(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), 107000, "mode is 2");
  StreamHandle stream;
  uint32_t flag = 9;
  OK(aclrtSetStreamOverflowSwitch(stream, 1));
  OK(aclrtGetStreamOverflowSwitch(stream, &flag));
  CHECK_EQUAL(flag, 1u);
  FAILS(aclrtSetStreamOverflowSwitch(stream, 2), 107000, "wanted 0 or 1");
  aclrtStreamAttrValue value = {};
  value.userCustomTag = 77;
  OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
  value = {};
  OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
  CHECK_EQUAL(value.userCustomTag, 77u);
  FAILS(aclrtSetStreamAttribute(stream, aclrtStreamAttr(40), &value), 107000, "is 40");
  uint64_t actual = 0;
  uint32_t milliseconds = 0;
  OK(aclrtSetOpExecuteTimeOutV2(3000000, &actual));
  CHECK_EQUAL(actual, 3000000u);
  OK(aclrtGetOpExecuteTimeout(&milliseconds));
  CHECK_EQUAL(milliseconds, 3000u);
}

TEST("limits of cores: the stream's come before the device's, and those before the hardware's") {
  StreamHandle stream;
  uint32_t cores = 0;
  auto in_thread = [&] {
    uint32_t found = 0;
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &found));
    return found;
  };
  CHECK_EQUAL(in_thread(), 24u);
  OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 20));
  OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &cores));
  CHECK_EQUAL(cores, 20u);
  OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 4));
  CHECK_EQUAL(in_thread(), 20u);
  OK(aclrtUseStreamResInCurrentThread(stream));
  CHECK_EQUAL(in_thread(), 4u);
  std::thread([&] {
    OK(aclrtSetDevice(0));
    CHECK_EQUAL(in_thread(), 20u);
  }).join();
  OK(aclrtResetStreamResLimit(stream));
  CHECK_EQUAL(in_thread(), 20u);
  OK(aclrtUnuseStreamResInCurrentThread(stream));
  OK(aclrtResetDeviceResLimit(0));
  OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &cores));
  CHECK_EQUAL(cores, 24u);
  FAILS(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 25), 107000, "wanted 1 to 24");
}

TEST("versions, attributes and identities can be asked for") {
  char package[] = "runtime", text[128] = {};
  int32_t number = 0, value = 0;
  OK(aclsysGetVersionStr(package, text));
  OK(aclsysGetVersionNum(package, &number));
  aclCANNPackageVersion version;
  OK(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version));
  CHECK_EQUAL(std::string(version.version), std::string(text));
  CHECK_EQUAL(number / 10000000, std::atoi(version.majorVersion));
  const aclCannAttr* attributes = nullptr;
  size_t count = 0;
  OK(aclGetCannAttributeList(&attributes, &count));
  CHECK(count >= 2);
  OK(aclGetCannAttribute(ACL_CANN_ATTR_BF16, &value));
  CHECK_EQUAL(value, 1);
  FAILS(aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &value), 100000, "no aclCannAttr");
  aclrtUuid first, second;
  OK(aclrtDeviceGetUuid(0, &first));
  OK(aclrtDeviceGetUuid(1, &second));
  CHECK(std::memcmp(&first, &second, sizeof first) != 0);
  int32_t active = -1;
  OK(aclrtGetPrimaryCtxState(0, nullptr, &active));
  CHECK_EQUAL(active, 1);
  OK(aclrtGetPrimaryCtxState(1, nullptr, &active));
  CHECK_EQUAL(active, 0);
}
