// Counts of values.
#include "kernels/sort/histogram.h"
#include "op_plans.h"

namespace softnpu::ops {

namespace k = mt::kernels;

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
