// Losses of one pair of elements and their slopes, for every device's loops.
#pragma once

#include "kernels/common/arithmetic.h"
#include "kernels/loss/pointwise.h"

namespace mt::kernels {

#define MT_INLINE [[gnu::always_inline]] inline

// log(1 + exp(x)) without overflow.
template <class C>
MT_INLINE C log1p_exp(C x) {
  return math::select(x > C(0), x, C(0)) + math::log1p(math::exp_below(-std::fabs(x)));
}
template <class C>
MT_INLINE C sign_of(C x) {
  return math::select(x > C(0), C(1), math::select(x < C(0), C(-1), C(0)));
}
template <class C>
MT_INLINE C larger(C x, C low) {
  return math::select(x < low, low, x);  // NaN stays
}

template <class C>
struct Width {
  C beta, inverse;
};

template <PointwiseLoss kind, class C>
MT_INLINE C value_of(C x, C t, C pos, Width<C> width) {
  const C gap = x - t, size = std::fabs(gap), beta = width.beta;
  if constexpr (kind == PointwiseLoss::square) return gap * gap;
  else if constexpr (kind == PointwiseLoss::absolute) return size;
  else if constexpr (kind == PointwiseLoss::smooth_absolute)
    return math::select(size < beta, C(0.5) * gap * gap * width.inverse, size - C(0.5) * beta);
  else if constexpr (kind == PointwiseLoss::huber)
    return math::select(size <= beta, C(0.5) * gap * gap, beta * (size - C(0.5) * beta));
  else if constexpr (kind == PointwiseLoss::cross_entropy)
    return (t - C(1)) * larger(math::log1p(-x), C(-100)) - t * larger(math::log(x), C(-100));
  else if constexpr (kind == PointwiseLoss::logit_entropy)
    return (C(1) - t) * x + (C(1) + (pos - C(1)) * t) * log1p_exp(-x);
  else if constexpr (kind == PointwiseLoss::divergence)
    return math::select(t > C(0), t * (math::log(t) - x), math::select(t == C(0), C(0), t));
  else if constexpr (kind == PointwiseLoss::log_divergence) return math::exp(t) * (t - x);
  else if constexpr (kind == PointwiseLoss::soft_margin) return log1p_exp(-t * x);
  else if constexpr (kind == PointwiseLoss::hinge_embedding)
    return math::select(t != C(-1), C(0), larger(beta - x, C(0))) + math::select(t != C(1), C(0), x);
  else return larger(C(1) - x * t, C(0));
}

template <PointwiseLoss kind, class C>
MT_INLINE C slope_of(C x, C t, C pos, Width<C> width) {
  const C gap = x - t, size = std::fabs(gap), beta = width.beta;
  if constexpr (kind == PointwiseLoss::square) return C(2) * gap;
  else if constexpr (kind == PointwiseLoss::absolute) return sign_of(gap);
  else if constexpr (kind == PointwiseLoss::smooth_absolute)
    return math::select(size < beta, gap * width.inverse, sign_of(gap));
  else if constexpr (kind == PointwiseLoss::huber)
    return math::select(size <= beta, gap, beta * sign_of(gap));
  else if constexpr (kind == PointwiseLoss::cross_entropy) return gap / larger((C(1) - x) * x, C(1e-12));
  else if constexpr (kind == PointwiseLoss::logit_entropy)
    return (C(1) - t) - (C(1) + (pos - C(1)) * t) * math::sigmoid(-x);
  else if constexpr (kind == PointwiseLoss::divergence) return math::select(t > C(0), -t, C(0));
  else if constexpr (kind == PointwiseLoss::log_divergence) return -math::exp(t);
  else if constexpr (kind == PointwiseLoss::soft_margin) return -t * math::sigmoid(-t * x);
  else if constexpr (kind == PointwiseLoss::hinge_embedding)
    return math::select((t != C(-1)) | (beta - x < C(0)), C(0), C(-1)) + math::select(t != C(1), C(0), C(1));
  else return math::select(C(1) - x * t > C(0), -t, C(0));
}

constexpr bool moves_with_target(PointwiseLoss kind) {
  return kind == PointwiseLoss::logit_entropy || kind == PointwiseLoss::divergence ||
         kind == PointwiseLoss::log_divergence;
}
template <PointwiseLoss kind, class C>
MT_INLINE C target_slope_of(C x, C t, C pos) {
  if constexpr (kind == PointwiseLoss::logit_entropy) return (pos - C(1)) * log1p_exp(-x) - x;
  else if constexpr (kind == PointwiseLoss::divergence)
    return math::select(t > C(0), math::log(t) + C(1) - x, C(0));
  else return math::exp(t) * (t + C(1) - x);
}

#undef MT_INLINE

}  // namespace mt::kernels
