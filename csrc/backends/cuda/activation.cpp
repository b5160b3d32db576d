#include "generated/cuda/activation.h"

#include "backends/cuda/elementwise.h"
#include "infer/halves.h"
#include "infer/infer.h"
#include "kernels/elementwise/functors.h"

namespace mt::cuda {

void gelu(const Tensor& self, std::string_view approximate, const Tensor& out) {
  static Variants exact, by_tanh;
  if (approximate == "none")
    run_unary(functor_of<kernels::gelu_op>, exact, "gelu", self, out, nullptr, false);
  else run_unary(functor_of<kernels::gelu_tanh_op>, by_tanh, "gelu", self, out, nullptr, false);
}
void gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate, const Tensor& out) {
  static Variants exact, by_tanh;
  const DType compute = infer::result_type(grad, self);
  if (approximate == "none")
    run_elementwise(functor_of<kernels::gelu_backward_op>, exact, "gelu_backward", compute, out, {grad, self},
                    nullptr);
  else
    run_elementwise(functor_of<kernels::gelu_tanh_backward_op>, by_tanh, "gelu_backward", compute, out,
                    {grad, self}, nullptr);
}

void glu(const Tensor& self, int64_t dim, const Tensor& out) {
  static Variants variants;
  const infer::Halves halves(self, dim);
  run_elementwise(functor_of<kernels::glu_op>, variants, "glu", self.dtype(), out,
                  {halves.values, halves.gates}, nullptr);
}
void glu_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& out) {
  static Variants of_values, of_gates;
  const infer::Halves given(self, dim), made(out, dim);
  run_elementwise(functor_of<kernels::glu_value_backward_op>, of_values, "glu_backward", self.dtype(),
                  made.values, {grad, given.values, given.gates}, nullptr);
  run_elementwise(functor_of<kernels::glu_gate_backward_op>, of_gates, "glu_backward", self.dtype(),
                  made.gates, {grad, given.values, given.gates}, nullptr);
}

void elu_backward(const Tensor& grad, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                  bool is_result, const Tensor& self_or_result, const Tensor& out) {
  static Variants variants;
  const Scalar params[] = {alpha, scale, input_scale, is_result};
  run_elementwise(functor_of<kernels::elu_backward_op>, variants, "elu_backward",
                  infer::result_type(grad, self_or_result), out, {grad, self_or_result}, params);
}

}  // namespace mt::cuda
