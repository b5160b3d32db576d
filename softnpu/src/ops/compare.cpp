// Comparisons with more than an answer per element: closeness, equality of tensors, membership.
#include "kernels/common/copy.h"
#include "kernels/common/temporary.h"
#include "op_plans.h"
#include "ops/common/shorthand.h"

namespace softnpu::ops {

namespace {

// Integers are compared as double, where a tolerance has a meaning and differences cannot wrap.
void is_close(Plan& plan, const aclTensor* self, const aclTensor* other, double rtol, double atol,
              bool equal_nan, const aclTensor* out) {
  const Operand a = plan.input(self, "self"), b = plan.input(other, "other"), to = plan.output(out, "out");
  plan.require_same_dtype(a, "self", b, "other");
  plan.require_dtype(a, "self", domains::ordered);
  plan.require_dtype(to, "out", domains::boolean);
  plan.require_broadcast(a, "self", to);
  plan.require_broadcast(b, "other", to);
  if (rtol < 0 || atol < 0) plan.invalid("rtol is ", rtol, " and atol is ", atol, ", wanted at least 0");
  const DType compute = mt::is_floating(a.dtype) ? a.dtype : DType::float64;
  const std::array<Scalar, 3> params{Scalar(rtol), Scalar(atol), Scalar(equal_nan)};
  plan.run([=](const aclOpExecutor& e) {
    k::binary<k::isclose_op>(a.view(e), b.view(e), to.view(e), compute, params.data());
  });
}

Operand one_answer(Plan& plan, const aclTensor* out) {
  Operand to = plan.output(out, "out");
  plan.require_dtype(to, "out", domains::boolean);
  if (to.numel() != 1) plan.invalid("tensor 'out' has shape ", shape_text(to), ", wanted one element");
  to.ndim = 0;
  return to;
}

// A number as one element of the dtype it is compared in.
struct Number {
  alignas(16) char bytes[16];
  View view;
  Number(const Scalar& value, DType dtype) : view{bytes, nullptr, nullptr, 0, dtype} {
    k::store_scalar(value, dtype, bytes);
  }
};

}  // namespace

void IsClose(Plan& plan, const aclTensor* self, const aclTensor* other, double rtol, double atol,
             bool equal_nan, aclTensor* out) {
  is_close(plan, self, other, rtol, atol, equal_nan, out);
}
void ApproximateEqual(Plan& plan, const aclTensor* x1, const aclTensor* x2, float tolerance, aclTensor* y) {
  is_close(plan, x1, x2, 0, tolerance, false, y);
}

void Equal(Plan& plan, const aclTensor* self, const aclTensor* other, aclTensor* out) {
  const Operand a = plan.input(self, "self"), b = plan.input(other, "other"), to = one_answer(plan, out);
  plan.require_dtype(a, "self", k::eq_op::domain);
  plan.require_same_dtype(a, "self", b, "other");
  const bool comparable = same_shape(a, b);
  plan.run([=](const aclOpExecutor& e) {
    if (!comparable) return k::fill(to.view(e), Scalar(false));
    const k::Temporary same(a.sizes, a.ndim, DType::boolean);
    k::compare<k::eq_op>(a.view(e), b.view(e), same.view(), a.dtype);
    const std::vector<int64_t> ones(size_t(a.ndim), 1), zeros(size_t(a.ndim), 0);
    k::reduce<k::all_op>(same.view(), View{to.view(e).data, ones.data(), zeros.data(), a.ndim, to.dtype});
  });
}

void LessScalar(Plan& plan, const aclTensor* self, const aclScalar* other, aclTensor* out) {
  family::compare<k::lt_op>(plan, family::Argument<aclTensor>{self, "self"},
                            family::Argument<aclScalar>{other, "other"},
                            family::Argument<aclTensor>{out, "out"});
}

void IsInTensorScalar(Plan& plan, const aclTensor* element, const aclScalar* testElement, bool, bool invert,
                      aclTensor* out) {
  const family::Argument<aclTensor> left{element, "element"}, result{out, "out"};
  const family::Argument<aclScalar> right{testElement, "testElement"};
  if (invert) family::compare<k::ne_op>(plan, left, right, result);
  else family::compare<k::eq_op>(plan, left, right, result);
}

void IsInScalarTensor(Plan& plan, const aclScalar* element, const aclTensor* testElements, bool, bool invert,
                      aclTensor* out) {
  const Scalar wanted = plan.scalar(element, "element");
  const Operand among = plan.input(testElements, "testElements"), to = one_answer(plan, out);
  const DType compute = family::promote_number(among.dtype, wanted);
  plan.require_dtype(among, "testElements", k::eq_op::domain);
  plan.run([=](const aclOpExecutor& e) {
    const Number number(wanted, compute);
    const k::Temporary hits(among.sizes, among.ndim, DType::boolean);
    k::compare<k::eq_op>(among.view(e), number.view, hits.view(), compute);
    bool found = false;
    for (int64_t i = 0; i < hits.view().dense; ++i) found = found || hits.view().as<bool>()[i];
    k::fill(to.view(e), Scalar(found != invert));
  });
}

}  // namespace softnpu::ops
