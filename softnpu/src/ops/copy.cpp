// Copies, fills, and choices by a mask.
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

namespace {

constexpr DTypeSet kMask = k::dtype_set(DType::boolean, DType::uint8);

// With a tensor of one element, or with a number.
void masked_fill(Plan& plan, const aclTensor* selfRef, const aclTensor* mask, const aclTensor* value,
                 const std::optional<Scalar>& number) {
  const Operand to = plan.output(selfRef, "selfRef"), which = plan.input(mask, "mask");
  plan.require_dtype(which, "mask", kMask);
  plan.require_dtype(to, "selfRef", domains::every);
  plan.require_broadcast(which, "mask", to);
  std::optional<Operand> element;
  if (!number) element = single_element(plan, plan.input(value, "value"), "value");
  plan.run([=](const aclOpExecutor& e) {
    const View target = to.view(e);
    const NumberView constant(number.value_or(Scalar(0)), to.dtype);
    k::where(which.view(e), element ? element->view(e) : constant.view, target, target);
  });
}

}  // namespace

void SWhere(Plan& plan, const aclTensor* condition, const aclTensor* self, const aclTensor* other,
            aclTensor* out) {
  const Operand which = plan.input(condition, "condition"), a = plan.input(self, "self"),
                b = plan.input(other, "other"), to = plan.output(out, "out");
  plan.require_dtype(which, "condition", kMask);
  plan.require_broadcast(which, "condition", to);
  plan.require_broadcast(a, "self", to);
  plan.require_broadcast(b, "other", to);
  plan.run([=](const aclOpExecutor& e) { k::where(which.view(e), a.view(e), b.view(e), to.view(e)); });
}

void InplaceMaskedFillScalar(Plan& plan, aclTensor* selfRef, const aclTensor* mask, const aclScalar* value) {
  masked_fill(plan, selfRef, mask, nullptr, plan.scalar(value, "value"));
}
void InplaceMaskedFillTensor(Plan& plan, aclTensor* selfRef, const aclTensor* mask, const aclTensor* value) {
  masked_fill(plan, selfRef, mask, value, std::nullopt);
}

}  // namespace softnpu::ops
