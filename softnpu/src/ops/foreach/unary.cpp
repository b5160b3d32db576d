// Lists of tensors: functions of one tensor.
#include <atomic>
#include <cmath>

#include "kernels/common/temporary.h"
#include "kernels/reduce/norms.h"
#include "op_plans.h"
#include "ops/foreach/foreach.h"

namespace softnpu::ops {

#define FOREACH_UNARY(NAME, FUNCTOR)                                        \
  void NAME(Plan& plan, const aclTensorList* x, const aclTensorList* out) { \
    lists::unary<k::FUNCTOR>(plan, x, out);                                 \
  }
FOREACH_UNARY(ForeachAbs, abs_op)
FOREACH_UNARY(ForeachAcos, acos_op)
FOREACH_UNARY(ForeachAsin, asin_op)
FOREACH_UNARY(ForeachAtan, atan_op)
FOREACH_UNARY(ForeachCos, cos_op)
FOREACH_UNARY(ForeachCosh, cosh_op)
FOREACH_UNARY(ForeachErf, erf_op)
FOREACH_UNARY(ForeachErfc, erfc_op)
FOREACH_UNARY(ForeachExp, exp_op)
FOREACH_UNARY(ForeachExpm1, expm1_op)
FOREACH_UNARY(ForeachLog, log_op)
FOREACH_UNARY(ForeachLog10, log10_op)
FOREACH_UNARY(ForeachLog1p, log1p_op)
FOREACH_UNARY(ForeachLog2, log2_op)
FOREACH_UNARY(ForeachNeg, neg_op)
FOREACH_UNARY(ForeachReciprocal, reciprocal_op)
FOREACH_UNARY(ForeachSigmoid, sigmoid_op)
FOREACH_UNARY(ForeachSign, sign_op)
FOREACH_UNARY(ForeachSin, sin_op)
FOREACH_UNARY(ForeachSinh, sinh_op)
FOREACH_UNARY(ForeachSqrt, sqrt_op)
FOREACH_UNARY(ForeachTan, tan_op)
FOREACH_UNARY(ForeachTanh, tanh_op)
#undef FOREACH_UNARY

void ForeachACosInplace(Plan& plan, const aclTensorList* x) { lists::unary<k::acos_op>(plan, x, nullptr); }
void ForeachLogInplace(Plan& plan, const aclTensorList* x) { lists::unary<k::log_op>(plan, x, nullptr); }

void ForeachZeroInplace(Plan& plan, const aclTensorList* x) {
  const lists::Operands to = plan.outputs(x, "x");
  plan.run([to](const aclOpExecutor& e) {
    for (const Operand& tensor : to) k::fill(tensor.view(e), Scalar(int64_t(0)));
  });
}

void ForeachCopy(Plan& plan, const aclTensorList* x, const aclTensorList* out) {
  const lists::Operands in = plan.inputs(x, "x"), to = plan.outputs(out, "out");
  lists::require_length(plan, to.size(), "out", in.size());
  for (size_t i = 0; i < in.size(); ++i) plan.require_broadcast(in[i], "x", to[i]);
  plan.run([in, to](const aclOpExecutor& e) {
    for (size_t i = 0; i < in.size(); ++i) k::copy(in[i].view(e), to[i].view(e));
  });
}

void ForeachNorm(Plan& plan, const aclTensorList* x, const aclScalar* scalar, const aclTensorList* out) {
  const lists::Operands in = plan.inputs(x, "x");
  const double order = plan.scalar(scalar, "scalar").to<double>();
  lists::Operands to = plan.outputs(out, "out");
  lists::require_length(plan, to.size(), "out", in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    plan.require_dtype(in[i], "x", domains::inexact);
    plan.require_dtype(to[i], "out", domains::floating);
    if (to[i].numel() != 1) plan.invalid("a result has shape ", shape_text(to[i]), ", wanted one element");
    to[i].ndim = in[i].ndim;
    for (int d = 0; d < in[i].ndim; ++d) to[i].sizes[d] = 1, to[i].strides[d] = 0;
  }
  plan.run([in, to, order](const aclOpExecutor& e) {
    for (size_t i = 0; i < in.size(); ++i) k::vector_norm(in[i].view(e), to[i].view(e), order);
  });
}

namespace {

using Rounding = void (*)(const View&, const View&, const Scalar*);

// The numbers of the rounding modes are those of the card's conversion instructions.
Rounding rounding_of(int64_t mode) {
  switch (mode) {
    case 1: return k::unary<k::round_op>;
    case 2: return k::unary<k::floor_op>;
    case 3: return k::unary<k::ceil_op>;
    case 4: return k::unary<k::round_away_op>;
    case 5: return k::unary<k::trunc_op>;
    case 7: return k::unary<k::frac_op>;
    default:
      mt::fail(mt::ErrorKind::value, "roundMode is ", mode,
               ", wanted 1 (to even), 2 (floor), 3 (ceil), 4 (half away from zero), 5 (trunc) or 7 (frac)");
  }
}

void round_off(Plan& plan, const lists::Operands& in, const lists::Numbers& mode, const lists::Operands& to) {
  lists::require_length(plan, to.size(), "out", in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    plan.require_dtype(in[i], "x", domains::floating);
    plan.require_same_dtype(to[i], "out", in[i], "x");
    plan.require_same_shape(in[i], "x", to[i], "out");
  }
  plan.run([=](const aclOpExecutor& e) {
    const Rounding round = rounding_of(mode.at(0, e).to<int64_t>());
    for (size_t i = 0; i < in.size(); ++i) round(in[i].view(e), to[i].view(e), nullptr);
  });
}

}  // namespace

void ForeachRoundOffNumber(Plan& plan, const aclTensorList* x, const aclTensor* roundMode,
                           const aclTensorList* out) {
  const lists::Operands in = plan.inputs(x, "x");
  const lists::Numbers mode = lists::Numbers::all(plan, roundMode, "roundMode");
  round_off(plan, in, mode, plan.outputs(out, "out"));
}
void ForeachRoundOffNumberV2(Plan& plan, const aclTensorList* x, const aclScalar* roundMode,
                             aclTensorList* out) {
  const lists::Operands in = plan.inputs(x, "x");
  const Scalar mode = plan.scalar(roundMode, "roundMode");
  rounding_of(mode.to<int64_t>());  // refuses an unknown one while the caller can still be told
  round_off(plan, in, lists::Numbers::all(mode), plan.outputs(out, "out"));
}

}  // namespace softnpu::ops
