// Elementwise arithmetic beyond the rows of the operator table: three operands, numbers on the left, rounding modes.
#include <cmath>

#include "kernels/common/copy.h"
#include "kernels/common/temporary.h"
#include "op_plans.h"
#include "ops/common/shorthand.h"

namespace softnpu::ops {

namespace {

template <class Op>
void addc(Plan& plan, const aclTensor* self, const aclTensor* tensor1, const aclTensor* tensor2,
          const aclScalar* value, const aclTensor* out) {
  family::ternary<Op>(
      plan, family::Argument<aclTensor>{self, "self"}, family::Argument<aclTensor>{tensor1, "tensor1"},
      family::Argument<aclTensor>{tensor2, "tensor2"}, std::array<Scalar, 1>{plan.scalar(value, "value")},
      family::Argument<aclTensor>{out, "out"});
}

void lerp(Plan& plan, const aclTensor* self, const aclTensor* end, const aclTensor* weight,
          const aclTensor* out) {
  family::ternary<k::lerp_op>(plan, family::Argument<aclTensor>{self, "self"},
                              family::Argument<aclTensor>{end, "end"},
                              family::Argument<aclTensor>{weight, "weight"}, std::array<Scalar, 0>{},
                              family::Argument<aclTensor>{out, "out"});
}

template <class Right>
void divide(Plan& plan, const aclTensor* self, const Right* other, int64_t mode, const aclTensor* out) {
  switch (mode) {
    case 0: return binary<k::div_op>(plan, self, other, out);
    case 1: return binary<k::trunc_divide_op>(plan, self, other, out);
    case 2: return binary<k::floor_divide_op>(plan, self, other, out);
    default: plan.invalid("mode is ", mode, ", wanted 0 (true division), 1 (truncate) or 2 (floor)");
  }
}

// Integers have neither NaN nor infinity: they are copied.
void nan_to_num(Plan& plan, const aclTensor* self, float nan, float posinf, float neginf,
                const aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_same_shape(in, "self", to, "out");
  plan.require_dtype(in, "self", domains::any);
  const std::array<Scalar, 3> params{Scalar(double(nan)), Scalar(double(posinf)), Scalar(double(neginf))};
  const bool whole = mt::is_integral(in.dtype, true);
  if (!whole) family::require_unary<k::nan_to_num_op>(plan, in, "self", to, "out");
  plan.run([=](const aclOpExecutor& e) {
    if (whole) k::copy(in.view(e), to.view(e));
    else k::unary<k::nan_to_num_op>(in.view(e), to.view(e), params.data());
  });
}

void round_decimals(Plan& plan, const aclTensor* self, int64_t decimals, const aclTensor* out) {
  if (decimals == 0) return unary<k::round_op>(plan, self, out);
  unary<k::round_decimals_op>(plan, self, out, std::pow(10.0, std::fabs(double(decimals))), decimals < 0);
}

void clamp_tensor(Plan& plan, const aclTensor* self, const aclTensor* low, const aclTensor* high,
                  const aclTensor* out) {
  const Operand in = plan.input(self, "self");
  const std::optional<Operand> least = plan.optional_input(low, "clipValueMin"),
                               most = plan.optional_input(high, "clipValueMax");
  const Operand to = plan.output(out, "out");
  if (!least && !most) plan.invalid("both limits are NULL, wanted at least one");
  DType compute = in.dtype;
  for (const auto& [limit, name] : {std::pair(&least, "clipValueMin"), std::pair(&most, "clipValueMax")}) {
    if (!*limit) continue;
    compute = mt::promote(compute, (*limit)->dtype);
    plan.require_broadcast(**limit, name, to);
  }
  plan.require_broadcast(in, "self", to);
  if (!k::contains(k::maximum_op::domain, compute))
    family::refuse_domain(plan, "clamp", k::maximum_op::domain, compute, "tensor 'self' is ",
                          mt::info(in.dtype).name);
  plan.run([=](const aclOpExecutor& e) {
    const View result = to.view(e);
    if (least) k::binary<k::maximum_op>(in.view(e), least->view(e), result, compute);
    if (most) k::binary<k::minimum_op>(least ? result : in.view(e), most->view(e), result, compute);
  });
}

// All tensors of a list in one, pair by pair.
template <class Op>
void fold(Plan& plan, const aclTensorList* tensors, const aclTensor* out) {
  const std::vector<Operand> parts = plan.inputs(tensors, "tensors");
  const Operand to = plan.output(out, "out");
  if (parts.empty()) plan.invalid("list 'tensors' is empty");
  DType compute = parts[0].dtype;
  for (const Operand& part : parts) {
    plan.require_broadcast(part, "tensors", to);
    compute = mt::promote(compute, part.dtype);
  }
  if (!k::contains(Op::domain, compute))
    family::refuse_domain(plan, Op::name, Op::domain, compute, "the tensors meet in ",
                          mt::info(compute).name);
  plan.run([parts, to, compute](const aclOpExecutor& e) {
    const Scalar one(int64_t(1));
    // A total of its own: the result may be one of the tensors, and half types would round at every step.
    const bool half = compute == DType::float16 || compute == DType::bfloat16;
    const k::Temporary total(to.sizes, to.ndim, half ? DType::float32 : compute);
    k::copy(parts[0].view(e), total.view());
    for (size_t i = 1; i < parts.size(); ++i)
      k::binary<Op>(total.view(), parts[i].view(e), total.view(), total.view().dtype, &one);
    k::copy(total.view(), to.view(e));
  });
}

}  // namespace

void AddN(Plan& plan, const aclTensorList* tensors, aclTensor* out) { fold<k::add_op>(plan, tensors, out); }
void Sum(Plan& plan, const aclTensorList* tensors, aclTensor* out) { fold<k::add_op>(plan, tensors, out); }
void SumV2(Plan& plan, const aclTensorList* tensors, aclTensor* out) { fold<k::add_op>(plan, tensors, out); }
void MaxN(Plan& plan, const aclTensorList* tensors, aclTensor* out) {
  fold<k::maximum_op>(plan, tensors, out);
}
void MinN(Plan& plan, const aclTensorList* tensors, aclTensor* out) {
  fold<k::minimum_op>(plan, tensors, out);
}

void Addcmul(Plan& plan, const aclTensor* self, const aclTensor* tensor1, const aclTensor* tensor2,
             const aclScalar* value, aclTensor* out) {
  addc<k::addcmul_op>(plan, self, tensor1, tensor2, value, out);
}
void InplaceAddcmul(Plan& plan, const aclTensor* selfRef, const aclTensor* tensor1, const aclTensor* tensor2,
                    const aclScalar* value) {
  addc<k::addcmul_op>(plan, selfRef, tensor1, tensor2, value, selfRef);
}
void Addcdiv(Plan& plan, const aclTensor* self, const aclTensor* tensor1, const aclTensor* tensor2,
             const aclScalar* value, const aclTensor* out) {
  addc<k::addcdiv_op>(plan, self, tensor1, tensor2, value, out);
}
void InplaceAddcdiv(Plan& plan, const aclTensor* selfRef, const aclTensor* tensor1, const aclTensor* tensor2,
                    const aclScalar* value) {
  addc<k::addcdiv_op>(plan, selfRef, tensor1, tensor2, value, selfRef);
}

void Lerp(Plan& plan, const aclTensor* self, const aclTensor* end, const aclTensor* weight, aclTensor* out) {
  lerp(plan, self, end, weight, out);
}
void InplaceLerp(Plan& plan, aclTensor* selfRef, const aclTensor* end, const aclTensor* weight) {
  lerp(plan, selfRef, end, weight, selfRef);
}

void AddRelu(Plan& plan, const aclTensor* self, const aclTensor* other, aclScalar* alpha, aclTensor* out) {
  binary<k::add_relu_op>(plan, self, other, out, plan.scalar(alpha, "alpha"));
}
void InplaceAddRelu(Plan& plan, aclTensor* selfRef, const aclTensor* other, aclScalar* alpha) {
  binary<k::add_relu_op>(plan, selfRef, other, selfRef, plan.scalar(alpha, "alpha"));
}
void AddV3(Plan& plan, const aclScalar* self, const aclTensor* other, const aclScalar* alpha,
           aclTensor* out) {
  binary<k::add_op>(plan, self, other, out, plan.scalar(alpha, "alpha"));
}

void AssignSub(Plan& plan, const aclTensor* var, const aclTensor* value, const aclTensor* varOut) {
  binary<k::sub_op>(plan, var, value, varOut, 1);
}
void AxpyV2(Plan& plan, const aclTensor* self, const aclTensor* other, const aclTensor* alpha,
            aclTensor* out) {
  family::ternary<k::addcmul_op>(plan, family::Argument<aclTensor>{self, "self"},
                                 family::Argument<aclTensor>{other, "other"},
                                 family::Argument<aclTensor>{alpha, "alpha"},
                                 std::array<Scalar, 1>{Scalar(1)}, family::Argument<aclTensor>{out, "out"});
}

void DivMod(Plan& plan, const aclTensor* self, const aclTensor* other, int mode, aclTensor* out) {
  divide(plan, self, other, mode, out);
}
void DivMods(Plan& plan, const aclTensor* self, const aclScalar* other, int mode, aclTensor* out) {
  divide(plan, self, other, mode, out);
}
void InplaceDivMod(Plan& plan, aclTensor* selfRef, const aclTensor* other, int mode) {
  divide(plan, selfRef, other, mode, selfRef);
}
void InplaceDivMods(Plan& plan, aclTensor* selfRef, const aclScalar* other, int mode) {
  divide(plan, selfRef, other, mode, selfRef);
}
void DivV3(Plan& plan, const aclTensor* self, const aclTensor* other, int64_t mode, aclTensor* out) {
  divide(plan, self, other, mode, out);
}
void RealDiv(Plan& plan, const aclTensor* self, const aclTensor* other, aclTensor* out) {
  binary<k::div_op>(plan, self, other, out);
}
void FloorDiv(Plan& plan, const aclTensor* self_x, const aclTensor* self_y, aclTensor* out) {
  binary<k::floor_divide_op>(plan, self_x, self_y, out);
}
void TruncateDiv(Plan& plan, const aclTensor* x1, const aclTensor* x2, aclTensor* out) {
  binary<k::trunc_divide_op>(plan, x1, x2, out);
}
void TruncateMod(Plan& plan, const aclTensor* x1, const aclTensor* x2, aclTensor* out) {
  binary<k::fmod_op>(plan, x1, x2, out);
}
void RemainderScalarTensor(Plan& plan, const aclScalar* self, const aclTensor* other, aclTensor* out) {
  binary<k::remainder_op>(plan, self, other, out);
}
void XLogYScalarSelf(Plan& plan, const aclScalar* self, const aclTensor* other, aclTensor* out) {
  binary<k::xlogy_op>(plan, self, other, out);
}
void Pow2(Plan& plan, const aclTensor* x1, const aclTensor* x2, aclTensor* out) {
  binary<k::pow_op>(plan, x1, x2, out);
}
void MulNoNan(Plan& plan, const aclTensor* x, const aclTensor* y, const aclTensor* z) {
  binary<k::mul_no_nan_op>(plan, x, y, z);
}
void BitwiseAndTensorOut(Plan& plan, const aclTensor* self, const aclTensor* other, aclTensor* out) {
  binary<k::bitwise_and_op>(plan, self, other, out);
}
void InplaceBitwiseAndTensorOut(Plan& plan, const aclTensor* self, const aclTensor* other) {
  binary<k::bitwise_and_op>(plan, self, other, self);
}

void ClampTensor(Plan& plan, const aclTensor* self, const aclTensor* clipValueMin,
                 const aclTensor* clipValueMax, aclTensor* out) {
  clamp_tensor(plan, self, clipValueMin, clipValueMax, out);
}

void NanToNum(Plan& plan, const aclTensor* self, float nan, float posinf, float neginf, aclTensor* out) {
  nan_to_num(plan, self, nan, posinf, neginf, out);
}
void InplaceNanToNum(Plan& plan, aclTensor* selfRef, float nan, float posinf, float neginf) {
  nan_to_num(plan, selfRef, nan, posinf, neginf, selfRef);
}
void RoundDecimals(Plan& plan, const aclTensor* self, int64_t decimals, aclTensor* out) {
  round_decimals(plan, self, decimals, out);
}
void InplaceRoundDecimals(Plan& plan, aclTensor* selfRef, int64_t decimals) {
  round_decimals(plan, selfRef, decimals, selfRef);
}

void AsinhV2(Plan& plan, const aclTensor* x, const aclTensor* out) { unary<k::asinh_op>(plan, x, out); }
void CoshV2(Plan& plan, const aclTensor* self, aclTensor* out) { unary<k::cosh_op>(plan, self, out); }

void Clamp(Plan& plan, const aclTensor* self, const aclScalar* clipValueMin, const aclScalar* clipValueMax,
           aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_same_shape(in, "self", to, "out");
  if (clipValueMin == nullptr && clipValueMax == nullptr)
    plan.invalid("both limits are NULL, wanted at least one");
  const bool has_low = clipValueMin != nullptr, has_high = clipValueMax != nullptr;
  const Scalar low = has_low ? plan.scalar(clipValueMin, "clipValueMin") : Scalar(),
               high = has_high ? plan.scalar(clipValueMax, "clipValueMax") : Scalar();
  if (has_low) family::require_unary<k::clamp_min_op>(plan, in, "self", to, "out");
  // The upper limit is applied to the result where there is a lower one.
  if (has_high)
    family::require_unary<k::clamp_max_op>(plan, has_low ? to : in, has_low ? "out" : "self", to, "out");
  plan.run([=](const aclOpExecutor& e) {
    const View result = to.view(e);
    if (has_low) k::unary<k::clamp_min_op>(in.view(e), result, &low);
    if (has_high) k::unary<k::clamp_max_op>(has_low ? result : in.view(e), result, &high);
  });
}

void PowScalarTensor(Plan& plan, const aclScalar* self, const aclTensor* exponent, const aclTensor* out) {
  family::binary<k::pow_op>(plan, family::Argument{self, "self"}, family::Argument{exponent, "exponent"},
                            std::array<Scalar, 0>{}, family::Argument{out, "out"});
}

}  // namespace softnpu::ops
