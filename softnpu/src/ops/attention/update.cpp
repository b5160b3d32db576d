// Attention over parts of the keys, put together.
#include <cmath>

#include "kernels/common/dense.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

// Each part has the logarithm of the sum of its exponentials, [rows], and its result, [rows, width].
void AttentionUpdate(Plan& plan, const aclTensorList* lse, const aclTensorList* localOut, int64_t updateType,
                     aclTensor* out, aclTensor* lseOut) {
  const std::vector<Operand> logs = plan.inputs(lse, "lse"), parts = plan.inputs(localOut, "localOut");
  const Operand to = plan.output(out, "out");
  if (updateType < 0 || updateType > 1) plan.invalid("updateType is ", updateType, ", wanted 0 or 1");
  const std::optional<Operand> to_log = masked_output(plan, lseOut, "lseOut", updateType == 1);
  if (logs.empty() || logs.size() != parts.size())
    plan.invalid("there are ", logs.size(), " tensors in 'lse' and ", parts.size(), " in 'localOut'");
  plan.require_ndim(to, "out", 2);
  for (size_t i = 0; i < logs.size(); ++i) {
    plan.require_dtype(logs[i], "lse", k::dtype_set(DType::float32));
    plan.require_dtype(parts[i], "localOut", domains::floating);
    plan.require_shape(logs[i], "lse", {to.sizes[0]});
    plan.require_same_shape(parts[i], "localOut", to, "out");
  }
  if (to_log) plan.require_shape(*to_log, "lseOut", {to.sizes[0]});
  plan.run([=](const aclOpExecutor& e) {
    const int64_t rows = to.sizes[0], width = to.sizes[1];
    std::vector<float> top(size_t(rows), -HUGE_VALF), sum(size_t(rows), 0);
    for (const Operand& own : logs) {
      const k::DenseInput<float> log(own.view(e));
      for (int64_t row = 0; row < rows; ++row) top[size_t(row)] = std::max(top[size_t(row)], log[row]);
    }
    const k::DenseOutput<float> total(to.view(e));
    total.fill(0);
    for (size_t part = 0; part < logs.size(); ++part) {
      const k::DenseInput<float> log(logs[part].view(e)), own(parts[part].view(e));
      for (int64_t row = 0; row < rows; ++row) {
        const float share = std::exp(log[row] - top[size_t(row)]);
        sum[size_t(row)] += share;
        for (int64_t i = 0; i < width; ++i) total[row * width + i] += share * own[row * width + i];
      }
    }
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < width; ++i) total[row * width + i] /= sum[size_t(row)];
    total.store();
    if (!to_log) return;
    const k::DenseOutput<float> logarithm(to_log->view(e));
    for (int64_t row = 0; row < rows; ++row) logarithm[row] = top[size_t(row)] + std::log(sum[size_t(row)]);
    logarithm.store();
  });
}

}  // namespace softnpu::ops
