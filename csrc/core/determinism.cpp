#include "core/determinism.h"

#include "base/error.h"
#include "core/warn.h"

namespace mt {

Determinism g_determinism;

void alert_not_deterministic(const char* caller) {
  if (!g_determinism.wanted) return;
  constexpr const char* report =
      "You can file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding "
      "deterministic support for this operation.";
  constexpr const char* lacks = " does not have a deterministic implementation, but you set ";
  if (g_determinism.warn_only)
    return warn(
        join_text(caller, lacks, "'torch.use_deterministic_algorithms(True, warn_only=True)'. ", report));
  fail(ErrorKind::runtime, caller, lacks,
       "'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for this operation, or "
       "you "
       "can use the 'warn_only=True' option, if that's acceptable for your application. ",
       report);
}

}  // namespace mt
