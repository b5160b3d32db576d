// Larger pieces of formulas: reductions, sorting and cumulative operators.
#pragma once

#include <array>

#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

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
Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const DimList& dim,
                          bool keepdim);
Tensor cumprod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor reverse_logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                     int64_t dim);
Tensor vector_norm_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const Scalar& ord,
                            const DimList& dim, bool keepdim);

}  // namespace mt::formulas
