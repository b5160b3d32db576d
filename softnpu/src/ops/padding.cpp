// Tensors grown at their edges.
#include "kernels/padding/edges.h"
#include "op_plans.h"
#include "ops/common/arguments.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// The shape of `in` grown by `pad`, which counts from the last dimension.
std::vector<int64_t> padded(const Plan& plan, const Operand& in, const std::vector<int64_t>& pad) {
  std::vector<int64_t> sizes = sizes_of(in);
  if (pad.size() % 2 != 0 || pad.size() > 2 * sizes.size())
    plan.invalid("'padding' has ", pad.size(), " numbers, wanted an even number of at most ",
                 2 * sizes.size());
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    int64_t& size = sizes[sizes.size() - 1 - i];
    size += pad[2 * i] + pad[2 * i + 1];
    if (size < 0)
      plan.invalid("'padding' cuts more than there is from tensor 'self' of shape ", shape_text(in));
  }
  return sizes;
}

std::vector<int64_t> edge_padding(const Plan& plan, const Operand& in, const aclIntArray* padding,
                                  int spatial, k::Edge mode) {
  const std::vector<int64_t> pad = int_list(plan, padding, "padding");
  if (pad.size() != size_t(2 * spatial))
    plan.invalid("'padding' has ", pad.size(), " numbers, wanted ", 2 * spatial);
  if (in.ndim != spatial + 1 && in.ndim != spatial + 2)
    plan.invalid("tensor 'self' has shape ", shape_text(in), ", wanted ", spatial + 1, " or ", spatial + 2,
                 " dimensions");
  require_at_least(plan, pad, "padding", 0);
  for (size_t i = 0; i < pad.size(); ++i) {
    const int64_t size = in.sizes[in.ndim - 1 - int(i / 2)];
    const int64_t most = mode == k::Edge::reflect ? size - 1 : mode == k::Edge::circular ? size : pad[i];
    if (pad[i] > most || (size == 0 && pad[i] > 0))
      plan.invalid("'padding' holds ", pad[i], ", wanted at most ", most, " for tensor 'self' of shape ",
                   shape_text(in));
  }
  return pad;
}

void extend(Plan& plan, int spatial, k::Edge mode, const aclTensor* self, const aclIntArray* padding,
            const aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  const std::vector<int64_t> pad = edge_padding(plan, in, padding, spatial, mode);
  plan.require_same_dtype(in, "self", to, "out");
  plan.require_shape(to, "out", padded(plan, in, pad));
  plan.run([=](const aclOpExecutor& e) { k::extend_edges(in.view(e), pad, mode, to.view(e)); });
}

void extend_backward(Plan& plan, int spatial, k::Edge mode, const aclTensor* gradOutput,
                     const aclTensor* self, const aclIntArray* padding, const aclTensor* gradInput) {
  const Operand grad = plan.input(gradOutput, "gradOutput"), in = plan.input(self, "self"),
                to = plan.output(gradInput, "gradInput");
  const std::vector<int64_t> pad = edge_padding(plan, in, padding, spatial, mode);
  plan.require_same_dtype(grad, "gradOutput", to, "gradInput");
  plan.require_dtype(grad, "gradOutput", domains::numeric);
  plan.require_shape(grad, "gradOutput", padded(plan, in, pad));
  plan.require_same_shape(in, "self", to, "gradInput");
  plan.run([=](const aclOpExecutor& e) {
    // Half types add up in single precision.
    const bool narrow = grad.dtype == DType::float16 || grad.dtype == DType::bfloat16;
    const DType compute = narrow ? DType::float32 : grad.dtype;
    const k::Dense dy(grad.view(e), compute, k::Access::read), dx(to.view(e), compute, k::Access::write);
    k::extend_edges_backward(dy.view(), pad, mode, dx.view());
    dx.store();
  });
}

}  // namespace

void ConstantPadNd(Plan& plan, const aclTensor* self, const aclIntArray* pad, const aclScalar* value,
                   aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  const Scalar number = plan.scalar(value, "value");
  const std::vector<int64_t> amounts = int_list(plan, pad, "pad");
  plan.require_same_dtype(in, "self", to, "out");
  plan.require_shape(to, "out", padded(plan, in, amounts));
  plan.run([=](const aclOpExecutor& e) { k::constant_pad(in.view(e), amounts, number, to.view(e)); });
}

#define SOFTNPU_PAD(NAME, SPATIAL, MODE)                                                     \
  void NAME(Plan& plan, const aclTensor* self, const aclIntArray* padding, aclTensor* out) { \
    extend(plan, SPATIAL, k::Edge::MODE, self, padding, out);                                \
  }                                                                                          \
  void NAME##Backward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self,        \
                      const aclIntArray* padding, aclTensor* gradInput) {                    \
    extend_backward(plan, SPATIAL, k::Edge::MODE, gradOutput, self, padding, gradInput);     \
  }
SOFTNPU_PAD(ReflectionPad1d, 1, reflect)
SOFTNPU_PAD(ReflectionPad2d, 2, reflect)
SOFTNPU_PAD(ReflectionPad3d, 3, reflect)
SOFTNPU_PAD(ReplicationPad1d, 1, replicate)
SOFTNPU_PAD(ReplicationPad2d, 2, replicate)
SOFTNPU_PAD(ReplicationPad3d, 3, replicate)
SOFTNPU_PAD(CircularPad2d, 2, circular)
SOFTNPU_PAD(CircularPad3d, 3, circular)
#undef SOFTNPU_PAD

}  // namespace softnpu::ops
