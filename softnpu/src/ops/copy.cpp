// Copies and fills.
#include "kernels/common/copy.h"

#include "kernels/elementwise/elementwise.h"
#include "op_plans.h"
#include "ops/common/lookup.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

void InplaceCopy(Plan& plan, aclTensor* selfRef, const aclTensor* src) {
  const Operand to = plan.output(selfRef, "selfRef"), from = plan.input(src, "src");
  plan.require_broadcast(from, "src", to);
  plan.run([to, from](const aclOpExecutor& e) { k::copy(from.view(e), to.view(e)); });
}

void Cast(Plan& plan, const aclTensor* self, const aclDataType type, aclTensor* out) {
  const Operand from = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_same_shape(from, "self", to, "out");
  if (plan.dtype(type, "dtype") != to.dtype)
    plan.invalid("dtype is ", mt::info(plan.dtype(type, "dtype")).name, " but tensor 'out' is ",
                 mt::info(to.dtype).name);
  plan.run([to, from](const aclOpExecutor& e) { k::copy(from.view(e), to.view(e)); });
}

void TensorMove(Plan& plan, const aclTensor* x, aclTensor* y) {
  const Operand from = plan.input(x, "x"), to = plan.output(y, "y");
  plan.require_same_shape(from, "x", to, "y");
  plan.require_same_dtype(from, "x", to, "y");
  plan.run([from, to](const aclOpExecutor& e) { k::copy(from.view(e), to.view(e)); });
}

namespace {

void fill_with(Plan& plan, const aclTensor* tensor, const Scalar& value) {
  const Operand to = plan.output(tensor, "selfRef");
  plan.run([to, value](const aclOpExecutor& e) { k::fill(to.view(e), value); });
}

}  // namespace

void InplaceFillScalar(Plan& plan, aclTensor* selfRef, const aclScalar* value) {
  fill_with(plan, selfRef, plan.scalar(value, "value"));
}
void InplaceZero(Plan& plan, aclTensor* selfRef) { fill_with(plan, selfRef, Scalar(int64_t(0))); }
void InplaceOne(Plan& plan, const aclTensor* selfRef) { fill_with(plan, selfRef, Scalar(int64_t(1))); }

void InplaceFillTensor(Plan& plan, aclTensor* selfRef, const aclTensor* value) {
  const Operand to = plan.output(selfRef, "selfRef"), from = plan.input(value, "value");
  if (from.numel() != 1) plan.invalid("tensor 'value' has shape ", shape_text(from), ", wanted one element");
  Operand element = from;
  element.ndim = 0;
  plan.run([to, element](const aclOpExecutor& e) { k::copy(element.view(e), to.view(e)); });
}

}  // namespace softnpu::ops
