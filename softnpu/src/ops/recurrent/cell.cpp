// One step of a long short-term memory.
#include "kernels/elementwise/functors.h"
#include "kernels/recurrent/recurrent.h"
#include "kernels/reduce/reduce.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

void ThnnFusedLstmCell(Plan& plan, const aclTensor* inputGates, const aclTensor* hiddenGates,
                       const aclTensor* cx, const aclTensor* inputBiasOptional,
                       const aclTensor* hiddenBiasOptional, aclTensor* hyOut, aclTensor* cyOut,
                       aclTensor* storageOut) {
  const Operand x = plan.input(inputGates, "inputGates"), h = plan.input(hiddenGates, "hiddenGates"),
                cell = plan.input(cx, "cx");
  const std::optional<Operand> b = plan.optional_input(inputBiasOptional, "inputBias"),
                               c = plan.optional_input(hiddenBiasOptional, "hiddenBias");
  const Operand hidden = plan.output(hyOut, "hyOut"), after = plan.output(cyOut, "cyOut"),
                gates = plan.output(storageOut, "storageOut");
  plan.require_ndim(cell, "cx", 2);
  plan.require_dtype(cell, "cx", domains::floating);
  for (const auto& [operand, name] :
       {std::pair{&x, "inputGates"}, std::pair{&h, "hiddenGates"}, std::pair{&gates, "storageOut"}})
    plan.require_shape(*operand, name, {cell.sizes[0], 4 * cell.sizes[1]});
  plan.require_same_shape(hidden, "hyOut", cell, "cx");
  plan.require_same_shape(after, "cyOut", cell, "cx");
  for (const auto& [bias, name] : {std::pair{&b, "inputBias"}, std::pair{&c, "hiddenBias"}})
    if (*bias) plan.require_shape(**bias, name, {4 * cell.sizes[1]});
  plan.run([=](const aclOpExecutor& e) {
    const OptionalView first(b, e), second(c, e);
    k::lstm_cell(x.view(e), h.view(e), first.get(), second.get(), cell.view(e), hidden.view(e), after.view(e),
                 gates.view(e));
  });
}

void ThnnFusedLstmCellBackward(Plan& plan, const aclTensor* gradHyOptional, const aclTensor* gradCOptional,
                               const aclTensor* cx, const aclTensor* cy, const aclTensor* storage,
                               bool hasBias, aclTensor* gradGatesOut, aclTensor* gradCxOut,
                               aclTensor* gradBiasOut) {
  const std::optional<Operand> dh = plan.optional_input(gradHyOptional, "gradHy"),
                               dc = plan.optional_input(gradCOptional, "gradC");
  const Operand cell = plan.input(cx, "cx"), after = plan.input(cy, "cy"),
                gates = plan.input(storage, "storage"), to_gates = plan.output(gradGatesOut, "gradGatesOut"),
                to_cell = plan.output(gradCxOut, "gradCxOut");
  const std::optional<Operand> to_bias = masked_output(plan, gradBiasOut, "gradBiasOut", hasBias);
  plan.require_ndim(cell, "cx", 2);
  plan.require_dtype(cell, "cx", domains::floating);
  const std::vector<int64_t> wide{cell.sizes[0], 4 * cell.sizes[1]};
  plan.require_shape(gates, "storage", wide);
  plan.require_shape(to_gates, "gradGatesOut", wide);
  plan.require_same_shape(after, "cy", cell, "cx");
  plan.require_same_shape(to_cell, "gradCxOut", cell, "cx");
  if (dh) plan.require_same_shape(*dh, "gradHy", cell, "cx");
  if (dc) plan.require_same_shape(*dc, "gradC", cell, "cx");
  if (to_bias) plan.require_shape(*to_bias, "gradBiasOut", {wide[1]});
  plan.run([=](const aclOpExecutor& e) {
    const OptionalView first(dh, e), second(dc, e);
    k::lstm_cell_backward(first.get(), second.get(), cell.view(e), after.view(e), gates.view(e),
                          to_gates.view(e), to_cell.view(e));
    if (!to_bias) return;
    const Operand row = unsqueezed(*to_bias, 0);
    k::reduce<k::sum_op>(to_gates.view(e), row.view(e));
  });
}

}  // namespace softnpu::ops
