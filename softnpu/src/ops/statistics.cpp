// Mean and variance.
#include "kernels/statistics/moments.h"
#include "op_plans.h"
#include "ops/common/family.h"

namespace softnpu::ops {

namespace k = mt::kernels;
using family::kept_dims;

namespace {

void spread(Plan& plan, const aclTensor* self, const aclIntArray* dim, double correction, bool keep,
            bool root, const aclTensor* out, const aclTensor* mean_out, bool with_mean) {
  const Operand in = plan.input(self, "self"), given = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::real);
  plan.require_dtype(given, "out", domains::floating);
  const DimSet dims = plan.dims(dim, in);
  const Operand to = kept_dims(plan, in, given, dims, keep);
  Operand center = to;
  if (with_mean) {
    const Operand given_mean = plan.output(mean_out, "meanOut");
    plan.require_dtype(given_mean, "meanOut", domains::floating);
    center = kept_dims(plan, in, given_mean, dims, keep);
  }
  plan.run([=](const aclOpExecutor& e) {
    const View mean = center.view(e);
    k::moments(in.view(e), to.view(e), with_mean ? &mean : nullptr, correction, root);
  });
}

}  // namespace

void Var(Plan& plan, const aclTensor* self, const aclIntArray* dim, bool unbiased, bool keepdim,
         aclTensor* out) {
  spread(plan, self, dim, unbiased ? 1 : 0, keepdim, false, out, nullptr, false);
}
void VarCorrection(Plan& plan, const aclTensor* self, const aclIntArray* dim, int64_t correction,
                   bool keepdim, aclTensor* out) {
  spread(plan, self, dim, double(correction), keepdim, false, out, nullptr, false);
}
void VarMean(Plan& plan, const aclTensor* self, const aclIntArray* dim, int64_t correction, bool keepdim,
             aclTensor* varOut, aclTensor* meanOut) {
  spread(plan, self, dim, double(correction), keepdim, false, varOut, meanOut, true);
}
void Std(Plan& plan, const aclTensor* self, const aclIntArray* dim, const int64_t correction, bool keepdim,
         aclTensor* out) {
  spread(plan, self, dim, double(correction), keepdim, true, out, nullptr, false);
}
void StdMeanCorrection(Plan& plan, const aclTensor* self, const aclIntArray* dim, int64_t correction,
                       bool keepdim, aclTensor* stdOut, aclTensor* meanOut) {
  spread(plan, self, dim, double(correction), keepdim, true, stdOut, meanOut, true);
}

}  // namespace softnpu::ops
