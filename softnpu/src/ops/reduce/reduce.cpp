// Reductions beyond the rows of the operator table: products, norms, extremes of both kinds, rows cut to a norm.
#include "kernels/common/copy.h"
#include "kernels/common/temporary.h"
#include "kernels/reduce/norms.h"
#include "kernels/reduce/renorm.h"
#include "op_plans.h"
#include "ops/common/shorthand.h"

namespace softnpu::ops {

using family::Argument;
using family::kept_dims;
using family::of_everything;
using family::one_dim;

namespace {

void require_result_dtype(const Plan& plan, aclDataType type, const Operand& out) {
  const DType wanted = plan.dtype(type, "dtype");
  if (wanted != out.dtype)
    plan.invalid("dtype is ", mt::info(wanted).name, " but tensor 'out' is ", mt::info(out.dtype).name);
}

template <class Op>
void require_reducible(const Plan& plan, const Operand& in, const Operand& out) {
  const DType compute = k::reduce_compute_dtype(Op::domain, in.dtype, out.dtype);
  if (!k::contains(Op::domain, compute))
    family::refuse_domain(plan, Op::name, Op::domain, in.dtype, "tensor 'self' is ", mt::info(in.dtype).name,
                          " and 'out' is ", mt::info(out.dtype).name);
  if (!Op::empty_allowed && in.numel() == 0 && out.numel() != 0)
    plan.invalid("tensor 'self' of shape ", shape_text(in), " has no elements to choose from");
}

void norm(Plan& plan, const Operand& in, double p, DimSet dims, bool keep, const Operand& out) {
  plan.require_dtype(in, "self", domains::inexact);
  plan.require_dtype(out, "out", domains::floating);
  const Operand to = kept_dims(plan, in, out, dims, keep);
  if (p < 0 && in.numel() == 0 && to.numel() != 0)
    plan.invalid("tensor 'self' of shape ", shape_text(in), " has no elements, and order ", p, " needs some");
  plan.run([=](const aclOpExecutor& e) { k::vector_norm(in.view(e), to.view(e), p); });
}

void both_extremes(Plan& plan, const Operand& in, DimSet dims, bool keep, const aclTensor* min_out,
                   const aclTensor* max_out) {
  const Operand low = plan.output(min_out, "minOut"), high = plan.output(max_out, "maxOut");
  plan.require_same_dtype(low, "minOut", in, "self");
  plan.require_same_dtype(high, "maxOut", in, "self");
  require_reducible<k::amax_op>(plan, in, high);
  const Operand least = kept_dims(plan, in, low, dims, keep), most = kept_dims(plan, in, high, dims, keep);
  plan.run([=](const aclOpExecutor& e) {
    k::reduce<k::amin_op>(in.view(e), least.view(e));
    k::reduce<k::amax_op>(in.view(e), most.view(e));
  });
}

// Where no dimensions are given these mean either all of them or none.
template <class Op>
void reduce_unless_empty(Plan& plan, const aclTensor* self, const aclIntArray* dims, bool keep, bool noop,
                         const aclTensor* out) {
  if (noop && (dims == nullptr || dims->values.size() == 0)) {
    const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
    require_reducible<Op>(plan, in, to);
    plan.require_same_shape(in, "self", to, "out");
    return plan.run([in, to](const aclOpExecutor& e) { k::reduce<Op>(in.view(e), to.view(e)); });
  }
  family::reduce<Op>(plan, Argument<aclTensor>{self, "self"}, dims, keep, Argument<aclTensor>{out, "out"});
}

}  // namespace

void Prod(Plan& plan, const aclTensor* self, const aclDataType dtype, aclTensor* out) {
  const Operand in = plan.input(self, "self"), given = plan.output(out, "out");
  require_result_dtype(plan, dtype, given);
  require_reducible<k::prod_op>(plan, in, given);
  const Operand to = of_everything(plan, in, given);
  plan.run([=](const aclOpExecutor& e) { k::reduce<k::prod_op>(in.view(e), to.view(e)); });
}
void ProdDim(Plan& plan, const aclTensor* self, int64_t dim, bool keepDim, const aclDataType dtype,
             aclTensor* out) {
  const Operand in = plan.input(self, "self"), given = plan.output(out, "out");
  require_result_dtype(plan, dtype, given);
  require_reducible<k::prod_op>(plan, in, given);
  const Operand to = kept_dims(plan, in, given, one_dim(plan, dim, in), keepDim);
  plan.run([=](const aclOpExecutor& e) { k::reduce<k::prod_op>(in.view(e), to.view(e)); });
}
void MeanV2(Plan& plan, const aclTensor* self, const aclIntArray* dim, bool keepDim, bool noopWithEmptyAxes,
            aclTensor* out) {
  reduce_unless_empty<k::mean_op>(plan, self, dim, keepDim, noopWithEmptyAxes, out);
}
void MaxV2(Plan& plan, const aclTensor* self, const aclIntArray* dims, bool keepDims, bool noopWithEmptyDims,
           aclTensor* out) {
  reduce_unless_empty<k::amax_op>(plan, self, dims, keepDims, noopWithEmptyDims, out);
}

void Norm(Plan& plan, const aclTensor* self, const aclScalar* pScalar, const aclIntArray* dim, bool keepdim,
          aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  const double p = pScalar == nullptr ? 2.0 : plan.scalar(pScalar, "pScalar").to<double>();
  norm(plan, in, p, plan.dims(dim, in), keepdim, to);
}
void LinalgVectorNorm(Plan& plan, const aclTensor* self, const aclScalar* ord, const aclIntArray* dims,
                      bool keepDims, const aclDataType dtype, aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  require_result_dtype(plan, dtype, to);
  norm(plan, in, plan.scalar(ord, "ord").to<double>(), plan.dims(dims, in), keepDims, to);
}
void LogSumExp(Plan& plan, const aclTensor* self, const aclIntArray* dim, bool keepDim, aclTensor* out) {
  const Operand in = plan.input(self, "self"), given = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::ordered);
  plan.require_dtype(given, "out", domains::floating);
  const Operand to = kept_dims(plan, in, given, plan.dims(dim, in), keepDim);
  plan.run([=](const aclOpExecutor& e) { k::log_sum_exp(in.view(e), to.view(e)); });
}
// The logarithm of a sum; with no dimensions and noopWithEmptyAxes, of every element.
void ReduceLogSum(Plan& plan, const aclTensor* data, const aclIntArray* axes, bool keepDims,
                  bool noopWithEmptyAxes, aclTensor* reduce) {
  const Operand in = plan.input(data, "data"), given = plan.output(reduce, "reduce");
  plan.require_dtype(in, "data", domains::floating);
  plan.require_same_dtype(given, "reduce", in, "data");
  const bool none = noopWithEmptyAxes && (axes == nullptr || axes->values.size() == 0);
  const DimSet dims = none ? DimSet() : plan.dims(axes, in);
  const Operand to = kept_dims(plan, in, given, dims, keepDims);
  plan.run([=](const aclOpExecutor& e) {
    const k::Temporary total(to.sizes, to.ndim, DType::float64);
    k::reduce<k::sum_op>(in.view(e), total.view());
    k::unary<k::log_op>(total.view(), total.view());
    k::copy(total.view(), to.view(e));
  });
}

void Aminmax(Plan& plan, const aclTensor* self, const aclIntArray* dim, bool keepDim, aclTensor* minOut,
             aclTensor* maxOut) {
  const Operand in = plan.input(self, "self");
  both_extremes(plan, in, plan.dims(dim, in), keepDim, minOut, maxOut);
}
void AminmaxAll(Plan& plan, const aclTensor* self, aclTensor* minOut, aclTensor* maxOut) {
  const Operand in = plan.input(self, "self");
  both_extremes(plan, in, DimSet().set(), false, minOut, maxOut);
}
void AminmaxDim(Plan& plan, const aclTensor* self, const int64_t dim, bool keepDim, aclTensor* minOut,
                aclTensor* maxOut) {
  const Operand in = plan.input(self, "self");
  both_extremes(plan, in, one_dim(plan, dim, in), keepDim, minOut, maxOut);
}

void Trace(Plan& plan, const aclTensor* self, aclTensor* out) {
  const Operand in = plan.input(self, "self"), given = plan.output(out, "out");
  plan.require_ndim(in, "self", 2);
  Operand diagonal = in;
  diagonal.ndim = 1;
  diagonal.sizes[0] = std::min(in.sizes[0], in.sizes[1]);
  diagonal.strides[0] = in.strides[0] + in.strides[1];
  require_reducible<k::sum_op>(plan, diagonal, given);
  const Operand to = of_everything(plan, diagonal, given);
  plan.run([=](const aclOpExecutor& e) { k::reduce<k::sum_op>(diagonal.view(e), to.view(e)); });
}

namespace {

void renorm(Plan& plan, const Operand& in, const aclScalar* p, int64_t dim, const aclScalar* maxNorm,
            const Operand& to) {
  const double power = plan.scalar(p, "p").to<double>(), limit = plan.scalar(maxNorm, "maxNorm").to<double>();
  plan.require_dtype(in, "self", domains::floating);
  plan.require_same_shape(in, "self", to, "out");
  if (in.ndim < 2) plan.invalid("tensor 'self' has shape ", shape_text(in), ", wanted at least 2 dimensions");
  if (!(power > 0) || !(limit >= 0))
    plan.invalid("p is ", power, " and maxNorm is ", limit, ", wanted p > 0 and maxNorm >= 0");
  const int along = plan.dim(dim, in);
  plan.run([=](const aclOpExecutor& e) { k::renorm(in.view(e), to.view(e), along, power, limit); });
}

}  // namespace

void Renorm(Plan& plan, const aclTensor* self, const aclScalar* p, int64_t dim, const aclScalar* maxNorm,
            aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  renorm(plan, in, p, dim, maxNorm, to);
}
void InplaceRenorm(Plan& plan, aclTensor* selfRef, const aclScalar* p, int64_t dim,
                   const aclScalar* maxNorm) {
  const Operand in = plan.output(selfRef, "selfRef");
  renorm(plan, in, p, dim, maxNorm, in);
}

}  // namespace softnpu::ops
