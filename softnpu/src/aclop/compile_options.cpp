// Options of the operator compiler. There is no compiler here: options are kept and given back, and none
// changes what an operator computes.
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "acl_abi.h"
#include "runtime/error.h"
#include "runtime/export.h"
#include "runtime/hook.h"

namespace softnpu {
namespace {

constexpr int kOptions = ACL_OP_DEBUG_OPTION + 1;

struct Options {
  std::mutex mutex;
  std::array<std::string, kOptions> values;
};

// Never destroyed: threads of the program may still ask while the process ends.
Options& options() {
  static Options* instance = [] {
    auto* made = new Options;
    made->values[ACL_OP_JIT_COMPILE] = "disable";  // a 910B's: operators come compiled
    made->values[ACL_ALLOW_HF32] = "00";
    made->values[ACL_OP_DETERMINISTIC] = "0";
    return made;
  }();
  return *instance;
}

bool known(aclCompileOpt option) { return option >= 0 && option < kOptions; }

int refuse(const char* function, aclCompileOpt option) {
  return fail(ACL_ERROR_INVALID_PARAM, function, ": option is ", int(option), ", wanted 0 to ", kOptions - 1);
}

}  // namespace
}  // namespace softnpu

using namespace softnpu;

SOFTNPU_EXPORT aclError aclSetCompileopt(aclCompileOpt opt, const char* value) {
  SOFTNPU_ENTER(aclSetCompileopt, opt, value);
  if (!known(opt)) return refuse("aclSetCompileopt", opt);
  if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclSetCompileopt: value is NULL");
  std::lock_guard lock(options().mutex);
  options().values[opt] = value;
  return ACL_SUCCESS;
}

// The terminating zero counts.
SOFTNPU_EXPORT size_t aclGetCompileoptSize(aclCompileOpt opt) {
  if (!known(opt)) {
    refuse("aclGetCompileoptSize", opt);
    return 0;
  }
  std::lock_guard lock(options().mutex);
  return options().values[opt].size() + 1;
}

SOFTNPU_EXPORT aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length) {
  SOFTNPU_ENTER(aclGetCompileopt, opt, length);
  if (!known(opt)) return refuse("aclGetCompileopt", opt);
  std::lock_guard lock(options().mutex);
  const std::string& kept = options().values[opt];
  if (value == nullptr || length < kept.size() + 1)
    return fail(ACL_ERROR_INVALID_PARAM, "aclGetCompileopt: value is ", static_cast<void*>(value),
                ", length is ", length, ", wanted room for ", kept.size() + 1, " bytes");
  std::memcpy(value, kept.c_str(), kept.size() + 1);
  return ACL_SUCCESS;
}

// How shapes are compiled; every operator here takes every shape.
SOFTNPU_EXPORT aclError aclopSetCompileFlag(aclOpCompileFlag flag) {
  SOFTNPU_ENTER(aclopSetCompileFlag, flag);
  if (flag != ACL_OP_COMPILE_DEFAULT && flag != ACL_OP_COMPILE_FUZZ)
    return fail(ACL_ERROR_INVALID_PARAM, "aclopSetCompileFlag: flag is ", int(flag), ", wanted 0 or 1");
  return ACL_SUCCESS;
}
