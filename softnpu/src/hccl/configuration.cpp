#include "hccl/configuration.h"

#include <atomic>
#include <cstring>

#include "hccl/call.h"
#include "hccl/rendezvous.h"

namespace softnpu::hccl {
namespace {

// The first bytes of every version.
struct Head {
  size_t size;
  uint32_t magic;
  uint32_t version;
};

// The settings of the process: HCCL_DETERMINISTIC and HCCL_ACCELERATOR. They choose between algorithms; here
// reductions are always deterministic.
constexpr int kSettings = 2;
std::atomic<int32_t> settings[kSettings];

std::atomic<int32_t>& setting(HcclConfig config) {
  if (unsigned(config) >= kSettings)
    refuse(HCCL_E_PARA, "config is ", unsigned(config),
           ", wanted 0 (HCCL_DETERMINISTIC) or 1 (HCCL_ACCELERATOR)");
  return settings[unsigned(config)];
}

}  // namespace

CommunicatorOptions default_configuration() { return {.name = {}, .exec_timeout = exec_timeout()}; }

CommunicatorOptions read_configuration(const HcclCommConfig& config) {
  Head head;
  std::memcpy(&head, config.reserved, sizeof head);
  if (head.magic != HCCL_COMM_CONFIG_MAGIC_WORD)
    refuse(HCCL_E_PARA, "config was not initialised with HcclCommConfigInit");
  // Older callers have a shorter structure: nothing beyond its end may be read.
  auto has = [&](size_t offset, size_t bytes) { return offset + bytes <= head.size; };
#define HCCL_HAS(field) has(offsetof(HcclCommConfig, field), sizeof config.field)
  CommunicatorOptions options = default_configuration();
  if (HCCL_HAS(hcclBufferSize) && config.hcclBufferSize < 1)
    refuse(HCCL_E_PARA, "hcclBufferSize is 0, wanted at least 1 (MiB)");
  if (HCCL_HAS(hcclDeterministic) && config.hcclDeterministic > 2 &&
      config.hcclDeterministic != HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET)
    refuse(HCCL_E_PARA, "hcclDeterministic is ", config.hcclDeterministic, ", wanted 0, 1 or 2");
  if (HCCL_HAS(hcclCommName)) {
    const size_t length = strnlen(config.hcclCommName, sizeof config.hcclCommName);
    if (length == sizeof config.hcclCommName)
      refuse(HCCL_E_PARA, "hcclCommName has no end; wanted at most ", sizeof config.hcclCommName - 1,
             " characters");
    options.name.assign(config.hcclCommName, length);
  }
  if (HCCL_HAS(hcclExecTimeOut) && config.hcclExecTimeOut != HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET) {
    if (config.hcclExecTimeOut < 0)
      refuse(HCCL_E_PARA, "hcclExecTimeOut is ", config.hcclExecTimeOut, ", wanted seconds");
    options.exec_timeout = uint32_t(config.hcclExecTimeOut);
  }
#undef HCCL_HAS
  return options;
}

}  // namespace softnpu::hccl

using namespace softnpu;
using namespace softnpu::hccl;

SOFTNPU_EXPORT uint32_t HcclGetCommConfigCapability(void) {
  SOFTNPU_ENTER_AS(ordinary, 0, HcclGetCommConfigCapability);
  return HCCL_COMM_CONFIG_RESERVED;
}

SOFTNPU_EXPORT HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  HCCL_ENTER(HcclSetConfig, config);
  return guarded("HcclSetConfig", [&] {
    std::atomic<int32_t>& value = setting(config);
    if (configValue.value < 0) refuse(HCCL_E_PARA, "the value is ", configValue.value, ", wanted 0 or more");
    value.store(configValue.value);
  });
}

SOFTNPU_EXPORT HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* configValue) {
  HCCL_ENTER(HcclGetConfig, config);
  return guarded("HcclGetConfig",
                 [&] { require_pointer(configValue, "configValue")->value = setting(config).load(); });
}
