#include "autograd/formulas/softmax.h"

#include "generated/ops/reduce.h"

namespace mt::formulas {

Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                               int64_t dim) {
  return grad_output * grad - sum(output * grad_output, dim, true) * grad -
         grad_output * sum(output * grad, dim, true);
}

Tensor softmax_backward_tangent(const Tensor& output_tangent, const Tensor& grad_output, const Tensor& output,
                                int64_t dim) {
  return output_tangent * (grad_output - sum(grad_output * output, dim, true)) -
         output * sum(grad_output * output_tangent, dim, true);
}

}  // namespace mt::formulas
