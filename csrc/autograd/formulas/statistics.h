// Gradients of variances and deviations.
#pragma once

#include <optional>

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor variance_backward(const Tensor& grad, const Tensor& self, const DimList& dim,
                         const std::optional<Scalar>& correction, bool keepdim);
Tensor deviation_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const DimList& dim,
                          const std::optional<Scalar>& correction, bool keepdim);
// Of the variance and the mean together; either gradient may be undefined.
Tensor variance_and_mean_backward(const Tensor& grad, const Tensor& grad_mean, const Tensor& self,
                                  const DimList& dim, const std::optional<Scalar>& correction, bool keepdim);
Tensor deviation_and_mean_backward(const Tensor& grad, const Tensor& grad_mean, const Tensor& self,
                                   const Tensor& result, const DimList& dim,
                                   const std::optional<Scalar>& correction, bool keepdim);

}  // namespace mt::formulas
