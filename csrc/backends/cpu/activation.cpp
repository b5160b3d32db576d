#include "generated/cpu/activation.h"

#include "backends/cpu/kernel_view.h"
#include "infer/halves.h"
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

void glu(const Tensor& self, int64_t dim, const Tensor& out) {
  const infer::Halves halves(self, dim);
  kernels::binary<kernels::glu_op>(view(halves.values), view(halves.gates), view(out), self.dtype());
}
void glu_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& out) {
  const infer::Halves given(self, dim), made(out, dim);
  const kernels::View values = view(given.values), gates = view(given.gates);
  kernels::ternary<kernels::glu_value_backward_op>(view(grad), values, gates, view(made.values),
                                                   self.dtype());
  kernels::ternary<kernels::glu_gate_backward_op>(view(grad), values, gates, view(made.gates), self.dtype());
}

void elu_backward(const Tensor& grad, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                  bool is_result, const Tensor& self_or_result, const Tensor& out) {
  const Scalar params[] = {alpha, scale, input_scale, is_result};
  kernels::binary<kernels::elu_backward_op>(view(grad), view(self_or_result), view(out),
                                            infer::result_type(grad, self_or_result), params);
}

}  // namespace mt::cpu
