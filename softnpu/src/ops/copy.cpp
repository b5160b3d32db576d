// Copies, fills, ranges, concatenation and selection.
#include "kernels/common/copy.h"

#include <cmath>

#include "kernels/elementwise/elementwise.h"
#include "op_plans.h"

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

void Arange(Plan& plan, const aclScalar* start, const aclScalar* end, const aclScalar* step, aclTensor* out) {
  const Scalar first = plan.scalar(start, "start"), last = plan.scalar(end, "end"),
               by = plan.scalar(step, "step");
  const Operand to = plan.output(out, "out");
  plan.require_ndim(to, "out", 1);
  plan.require_dtype(to, "out", domains::every_numeric);
  if (by.equals(0)) plan.invalid("step is 0");
  const bool whole = first.is_integral() && last.is_integral() && by.is_integral();
  int64_t count;
  if (whole) {
    const int64_t distance = last.to<int64_t>() - first.to<int64_t>(), width = by.to<int64_t>();
    count = distance / width + (distance % width != 0);
  } else {
    count = int64_t(std::ceil((last.to<double>() - first.to<double>()) / by.to<double>()));
  }
  if (count < 0 || to.sizes[0] != count)
    plan.invalid("from ", first.to<double>(), " to ", last.to<double>(), " in steps of ", by.to<double>(),
                 " are ", count, " values, but 'out' has ", to.sizes[0]);
  plan.run([to, first, by](const aclOpExecutor& e) { k::arange(to.view(e), first, by); });
}

void Cat(Plan& plan, const aclTensorList* tensors, int64_t dim, aclTensor* out) {
  std::vector<Operand> parts = plan.inputs(tensors, "tensors");
  const Operand to = plan.output(out, "out");
  const int along = plan.dim(dim, to);
  // Legacy: an empty tensor of one dimension joins anything.
  std::erase_if(parts, [](const Operand& part) { return part.ndim == 1 && part.sizes[0] == 0; });
  std::vector<Operand> places;
  int64_t position = 0;
  for (const Operand& part : parts) {
    bool fits = part.ndim == to.ndim && to.ndim > 0;
    for (int i = 0; fits && i < to.ndim; ++i) fits = i == along || part.sizes[i] == to.sizes[i];
    if (!fits)
      plan.invalid("a tensor of shape ", shape_text(part), " does not fit a result of shape ", shape_text(to),
                   " along dim ", along);
    Operand place = to;
    place.sizes[along] = part.sizes[along];
    place.offset += position * to.strides[along] * int64_t(mt::itemsize(to.dtype));
    position += part.sizes[along];
    places.push_back(place);
  }
  if (!parts.empty() && position != to.sizes[along])
    plan.invalid("the tensors have ", position, " entries along dim ", along, " but 'out' has ",
                 to.sizes[along]);
  plan.run([parts = std::move(parts), places = std::move(places)](const aclOpExecutor& e) {
    for (size_t i = 0; i < parts.size(); ++i) k::copy(parts[i].view(e), places[i].view(e));
  });
}

void SWhere(Plan& plan, const aclTensor* condition, const aclTensor* self, const aclTensor* other,
            aclTensor* out) {
  const Operand which = plan.input(condition, "condition"), a = plan.input(self, "self"),
                b = plan.input(other, "other"), to = plan.output(out, "out");
  plan.require_dtype(which, "condition", k::dtype_set(DType::boolean, DType::uint8));
  plan.require_broadcast(which, "condition", to);
  plan.require_broadcast(a, "self", to);
  plan.require_broadcast(b, "other", to);
  plan.run([=](const aclOpExecutor& e) { k::where(which.view(e), a.view(e), b.view(e), to.view(e)); });
}

}  // namespace softnpu::ops
