// Backward of the normalisations: one kernel each, or, when the gradient is to be differentiated again, the same in
// terms of operators.
#pragma once
#pragma once

#include <array>
#include <tuple>

#include "autograd/formulas/common.h"

namespace mt::formulas {

using NormGradients = std::tuple<Tensor, Tensor, Tensor>;  // of input, weight and bias
using NormNeeds = std::array<bool, 3>;

NormGradients layer_norm_backward(const Tensor& grad, const Tensor& input, IntList normalized_shape,
                                  const Tensor& mean, const Tensor& rstd, const Tensor& weight, double eps,
                                  const NormNeeds& needs);
NormGradients group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean,
                                  const Tensor& rstd, const Tensor& weight, int64_t n, int64_t c, int64_t hxw,
                                  int64_t group, double eps, const NormNeeds& needs);
NormGradients batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                  const Tensor& running_mean, const Tensor& running_var,
                                  const Tensor& save_mean, const Tensor& save_invstd, bool training,
                                  double eps, const NormNeeds& needs);

// Tangents of input, weight and bias; the last two are undefined where there is no weight or bias.
struct NormTangents {
  const Tensor &input, &weight, &bias;
};
Tensor layer_norm_tangent(const NormTangents& tangents, const Tensor& input, IntList normalized_shape,
                          const Tensor& weight, double eps);
Tensor group_norm_tangent(const NormTangents& tangents, const Tensor& input, const Tensor& weight, int64_t n,
                          int64_t c, int64_t hxw, int64_t group, double eps);
Tensor batch_norm_tangent(const NormTangents& tangents, const Tensor& input, const Tensor& weight,
                          const Tensor& running_mean, const Tensor& running_var, bool training, double eps);

}  // namespace mt::formulas
