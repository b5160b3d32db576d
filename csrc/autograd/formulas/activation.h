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

}  // namespace mt::formulas
