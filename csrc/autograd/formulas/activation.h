// Second derivatives of activations.
#pragma once

#include <string_view>

#include "autograd/formulas/common.h"

namespace mt::formulas {

// Second derivatives; `product` is the gradient times the gradient that the first derivative was given.
Tensor silu_double_backward(const Tensor& product, const Tensor& self);
Tensor mish_double_backward(const Tensor& product, const Tensor& self);
Tensor gelu_double_backward(const Tensor& product, const Tensor& self, std::string_view approximate);
Tensor softplus_double_backward(const Tensor& product, const Tensor& self, const Scalar& beta,
                                const Scalar& threshold);
Tensor elu_double_backward(const Tensor& product, const Scalar& alpha, const Scalar& scale,
                           const Scalar& input_scale, bool is_result, const Tensor& self_or_result);

// Of values a and gates b, the halves of `self`: how a * sigmoid(b) moves with them, and the gradient of its gradient.
Tensor glu_tangent(const Tensor& tangent, const Tensor& self, int64_t dim);
Tensor glu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self, int64_t dim);

}  // namespace mt::formulas
