// What every exported ACLNN function does: the two phases around an operator's planning function.
#pragma once

#include "acl_abi.h"
#include "ops/common/plan.h"
#include "runtime/export.h"

namespace softnpu::ops {

struct OperatorNames {
  const char* name;
  const char* first_phase;
};

// A planning function with its arguments bound; lives only during the call.
class PlanFunction {
 public:
  template <class Callable>
  PlanFunction(const Callable& callable)
      : callable_(&callable),
        call_([](const void* bound, Plan& plan) { (*static_cast<const Callable*>(bound))(plan); }) {}
  void operator()(Plan& plan) const { call_(callable_, plan); }

 private:
  const void* callable_;
  void (*call_)(const void*, Plan&);
};

aclnnStatus plan_operator(const OperatorNames& names, uint64_t* workspace_size, aclOpExecutor** executor,
                          PlanFunction plan);
aclnnStatus launch_operator(const char* name, void* workspace, uint64_t workspace_size,
                            aclOpExecutor* executor, aclrtStream stream);
// Every two-phase operator of the ABI, sorted by name.
struct OperatorEntry {
  const char* name;
  bool implemented;
};
extern const OperatorEntry kOperators[];
extern const size_t kOperatorCount;

// For the functions of the table that are no two-phase operators and not implemented.
aclnnStatus refuse_call(const char* name);

}  // namespace softnpu::ops
