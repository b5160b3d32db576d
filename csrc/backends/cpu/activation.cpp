#include "generated/cpu/activation.h"

#include "backends/cpu/kernel_view.h"
#include "infer/infer.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"

namespace mt::cpu {

void gelu(const Tensor& self, std::string_view approximate, const Tensor& out) {
  if (approximate == "none") kernels::unary<kernels::gelu_op>(view(self), view(out));
  else kernels::unary<kernels::gelu_tanh_op>(view(self), view(out));
}
void gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate, const Tensor& out) {
  const DType compute = infer::result_type(grad, self);
  if (approximate == "none")
    kernels::binary<kernels::gelu_backward_op>(view(grad), view(self), view(out), compute);
  else kernels::binary<kernels::gelu_tanh_backward_op>(view(grad), view(self), view(out), compute);
}

void elu_backward(const Tensor& grad, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                  bool is_result, const Tensor& self_or_result, const Tensor& out) {
  const Scalar params[] = {alpha, scale, input_scale, is_result};
  kernels::binary<kernels::elu_backward_op>(view(grad), view(self_or_result), view(out),
                                            infer::result_type(grad, self_or_result), params);
}

}  // namespace mt::cpu
