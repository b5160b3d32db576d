// An operator that takes time and does nothing.
#include <chrono>
#include <thread>

#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

// A cycle is a nanosecond here. A card counts its own clock's, so programs measure how long some take.
void Sleep(Plan& plan, const aclIntArray* cycles) {
  const auto counts = int_list(plan, cycles, "cycles");
  if (counts.size() != 1 || counts[0] < 0)
    plan.invalid("cycles has ", counts.size(), " element(s), wanted one number that is not negative");
  plan.run([count = counts[0]](const aclOpExecutor&) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(count));
  });
}

}  // namespace softnpu::ops
