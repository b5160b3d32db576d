// Sampling from logits.
#include "kernels/random/sampling.h"

#include "op_plans.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace kernels = mt::kernels;

void ApplyTopKTopP(Plan& plan, const aclTensor* logits, const aclTensor* p, const aclTensor* k,
                   aclTensor* out) {
  const Operand in = plan.input(logits, "logits");
  const std::optional<Operand> share = plan.optional_input(p, "p"), most = plan.optional_input(k, "k");
  const Operand to = plan.output(out, "out");
  plan.require_dtype(in, "logits", domains::floating);
  plan.require_ndim(in, "logits", 2);
  plan.require_same_dtype(to, "out", in, "logits");
  plan.require_same_shape(to, "out", in, "logits");
  if (share) {
    plan.require_dtype(*share, "p", domains::floating);
    plan.require_shape(*share, "p", {in.sizes[0]});
  }
  if (most) {
    plan.require_dtype(*most, "k", kernels::dtype_set(DType::int32));
    plan.require_shape(*most, "k", {in.sizes[0]});
  }
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs from(in.view(e), DType::float32);
    const WriteAs result(to.view(e), DType::float32);
    std::optional<ReadAs> shares, counts;
    if (share) shares.emplace(share->view(e), DType::float32);
    if (most) counts.emplace(most->view(e), DType::int32);
    kernels::keep_likeliest(from.view(), counts ? &counts->view() : nullptr,
                            shares ? &shares->view() : nullptr, result.view());
    result.finish();
  });
}

}  // namespace softnpu::ops
