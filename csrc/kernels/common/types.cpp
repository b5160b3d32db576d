#include "kernels/common/types.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "kernels/common/cpu_features.h"

namespace mt::kernels {
namespace {

int usable_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2");
  const bool widest = wide && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const int found = wide + widest;
  const char* limit = std::getenv("MINDTORCH_CPU_LEVEL");
  return limit && limit[0] >= '0' && limit[0] <= '2' && limit[1] == '\0' ? std::min(found, limit[0] - '0')
                                                                         : found;
#else
  return 0;
#endif
}

}  // namespace

#if !defined(MT_LEVEL)
const int cpu_level = usable_level();
#endif

void check_level() {
  const int usable = usable_level();
  if (usable < cpu_level)
    fail(ErrorKind::runtime, "this build for work has loops for level ", cpu_level,
         " of x86-64 processors alone (0: SSE2, 1: AVX2, 2: AVX-512), which the machine that compiled it "
         "has, and level ",
         usable, " is wanted: by MINDTORCH_CPU_LEVEL, or because this machine has no more. ",
         "'make release' and wheels have all levels.");
}

void fail_unsupported(const char* name, DType dtype) {
  std::string_view text(name);
  if (text.ends_with("_op")) text.remove_suffix(3);
  fail(ErrorKind::not_implemented, '"', text, "\" not implemented for '", info(dtype).legacy, "'");
}

}  // namespace mt::kernels
