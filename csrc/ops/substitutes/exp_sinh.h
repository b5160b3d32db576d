// Integrals from 0 to infinity on the device; Note [Slopes of samples] in base/exp_sinh.h.
#pragma once

#include "autograd/formulas/common.h"
#include "base/exp_sinh.h"
#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"

namespace mt::substitutes {

using namespace formulas;  // +, -, * and / of tensors

// The sum over ExpSinh's points, which are a first dimension, of terms of s; Note [Slopes of samples].
template <class Terms>
Tensor integral(const Tensor& rate, Terms&& terms) {
  const Tensor count = ops::arange(Scalar(ExpSinh::kPoints), TensorOptions{rate.dtype(), rate.device()});
  const Tensor u = count * Scalar(ExpSinh::kStep) + Scalar(ExpSinh::kFirst), e = ops::exp(-u);
  Dims sizes(size_t(rate.dim()) + 1, 1);
  sizes[0] = ExpSinh::kPoints;
  const Tensor nodes = ops::view(ops::exp(u - e), sizes);
  const Tensor weights = nodes * ops::view(e + Scalar(1), sizes) * Scalar(ExpSinh::kStep);
  return ops::sum(weights * terms(nodes / rate), {0}) / rate;
}

inline Tensor rate_after_plateau(const Tensor& size) {
  return ops::reciprocal(ops::clamp_min(-ops::log(size) + Scalar(4), Scalar(1)));
}

// How fast the density of gamma numbers falls from x towards the end that `up` says.
inline Tensor gamma_rate(const Tensor& a, const Tensor& x, const Tensor& up) {
  const Tensor root = ops::sqrt(x);
  return ops::abs(x - a) + ops::where(up, ops::maximum(root, rate_after_plateau(x)), ops::minimum(root, a));
}

}  // namespace mt::substitutes
