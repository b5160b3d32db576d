// Running reductions along a dimension, and counts of values.
#include "kernels/cumulative/cumulative.h"

#include "kernels/common/copy.h"
#include "kernels/common/temporary.h"
#include "kernels/sort/histogram.h"
#include "kernels/sort/sort.h"
#include "op_plans.h"
#include "ops/shapes.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

struct Running {
  Operand in, out;
  int dim;
};

Running running(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* out) {
  const Running r{at_least_1d(plan.input(self, "self")), at_least_1d(plan.output(out, "out")), 0};
  plan.require_dtype(r.in, "self", domains::any);
  plan.require_dtype(r.out, "out", domains::numeric);
  plan.require_same_shape(r.in, "self", r.out, "out");
  return {r.in, r.out, plan.dim(dim, r.in)};
}

void accumulate(Plan& plan, k::Running operation, const aclTensor* self, int64_t dim, aclDataType type,
                const aclTensor* out) {
  const Running r = running(plan, self, dim, out);
  if (plan.dtype(type, "dtype") != r.out.dtype)
    plan.invalid("dtype is ", mt::info(plan.dtype(type, "dtype")).name, " but tensor 'out' is ",
                 mt::info(r.out.dtype).name);
  plan.run(
      [=](const aclOpExecutor& e) { k::cumulative(operation, r.in.view(e), r.out.view(e), r.dim, false); });
}

void running_extremum(Plan& plan, bool max, const aclTensor* self, int64_t dim, const aclTensor* values,
                      const aclTensor* indices) {
  const Operand in = at_least_1d(plan.input(self, "self")),
                to = at_least_1d(plan.output(values, "valuesOut")),
                place = at_least_1d(plan.output(indices, "indicesOut"));
  plan.require_dtype(in, "self", domains::ordered);
  plan.require_same_dtype(to, "valuesOut", in, "self");
  plan.require_dtype(place, "indicesOut", k::dtype_set(DType::int32, DType::int64));
  plan.require_same_shape(in, "self", to, "valuesOut");
  plan.require_same_shape(in, "self", place, "indicesOut");
  const int along = plan.dim(dim, in);
  plan.run([=](const aclOpExecutor& e) {
    if (place.dtype == DType::int64)
      return k::running_extremum(max, in.view(e), along, to.view(e), place.view(e));
    const k::Temporary wide(in.sizes, in.ndim, DType::int64);
    k::running_extremum(max, in.view(e), along, to.view(e), wide.view());
    k::copy(wide.view(), place.view(e));
  });
}

// Without the first (or last) entries along a dimension.
Operand cut(const Operand& operand, int dim, bool first) {
  Operand rest = operand;
  --rest.sizes[dim];
  if (first) rest.offset += operand.strides[dim] * int64_t(mt::itemsize(operand.dtype));
  return rest;
}

}  // namespace

void Cumsum(Plan& plan, const aclTensor* self, int64_t dim, aclDataType dtype, aclTensor* out) {
  accumulate(plan, k::Running::sum, self, dim, dtype, out);
}

// Exclusive: an element's sum is of those before it. That is the sum of all but the last, moved by one.
void CumsumV2(Plan& plan, const aclTensor* self, int64_t dim, bool exclusive, bool reverse, aclTensor* out) {
  const Running r = running(plan, self, dim, out);
  if (!exclusive || r.in.sizes[r.dim] == 0)
    return plan.run([=](const aclOpExecutor& e) {
      k::cumulative(k::Running::sum, r.in.view(e), r.out.view(e), r.dim, reverse);
    });
  const Operand from = cut(r.in, r.dim, reverse), to = cut(r.out, r.dim, !reverse);
  Operand edge = r.out;
  edge.sizes[r.dim] = 1;
  if (reverse)
    edge.offset += (r.out.sizes[r.dim] - 1) * r.out.strides[r.dim] * int64_t(mt::itemsize(r.out.dtype));
  plan.run([=](const aclOpExecutor& e) {
    const k::Temporary terms(from.sizes, from.ndim, from.dtype);
    k::copy(from.view(e), terms.view());
    k::cumulative(k::Running::sum, terms.view(), to.view(e), r.dim, reverse);
    k::fill(edge.view(e), Scalar(int64_t(0)));
  });
}

void Cumprod(Plan& plan, const aclTensor* input, const aclScalar* dim, const aclDataType dtype,
             aclTensor* out) {
  accumulate(plan, k::Running::product, input, plan.scalar(dim, "dim").to<int64_t>(), dtype, out);
}
void InplaceCumprod(Plan& plan, aclTensor* input, const aclScalar* dim) {
  const int64_t along = plan.scalar(dim, "dim").to<int64_t>();
  if (input == nullptr)
    throw PlanError(ACLNN_ERR_PARAM_NULLPTR, "aclnnInplaceCumprod: tensor 'input' is NULL");
  accumulate(plan, k::Running::product, input, along, input->type, input);
}
void Cummax(Plan& plan, const aclTensor* self, int64_t dim, aclTensor* valuesOut, aclTensor* indicesOut) {
  running_extremum(plan, true, self, dim, valuesOut, indicesOut);
}
void Cummin(Plan& plan, const aclTensor* self, int64_t dim, aclTensor* valuesOut, aclTensor* indicesOut) {
  running_extremum(plan, false, self, dim, valuesOut, indicesOut);
}

void Histc(Plan& plan, const aclTensor* self, int64_t bins, const aclScalar* min, const aclScalar* max,
           aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::real);
  plan.require_dtype(to, "out", domains::real);
  if (bins <= 0) plan.invalid("bins is ", bins, ", wanted at least 1");
  plan.require_shape(to, "out", {bins});
  const double low = plan.scalar(min, "min").to<double>(), high = plan.scalar(max, "max").to<double>();
  if (!(low <= high)) plan.invalid("min is ", low, " and max is ", high, ", wanted min <= max");
  plan.run([=](const aclOpExecutor& e) { k::histogram(in.view(e), to.view(e), low, high); });
}

void Bincount(Plan& plan, const aclTensor* self, const aclTensor* weights, int64_t minlength,
              aclTensor* out) {
  const Operand in = plan.input(self, "self");
  const std::optional<Operand> shares = plan.optional_input(weights, "weights");
  const Operand to = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::integral);
  plan.require_ndim(in, "self", 1);
  plan.require_dtype(to, "out", domains::real);
  plan.require_ndim(to, "out", 1);
  if (shares) {
    plan.require_dtype(*shares, "weights", domains::ordered);
    plan.require_same_shape(*shares, "weights", in, "self");
  }
  if (minlength < 0 || to.sizes[0] < minlength)
    plan.invalid("minlength is ", minlength, " and 'out' has ", to.sizes[0],
                 " entries, wanted 0 <= minlength <= that");
  plan.run([=](const aclOpExecutor& e) {
    const View share = shares ? shares->view(e) : View{};
    k::count_values(in.view(e), shares ? &share : nullptr, to.view(e));
  });
}

}  // namespace softnpu::ops
