// The dtype that a kernel computes in, by its functor's domain and the dtypes of its views: for callers that
// must know before the kernel runs whether it can. A result outside the domain means that it cannot.
#pragma once

#include "kernels/common/types.h"

namespace mt::kernels {

// unary<Op>: the input's, unless that is outside the domain (exp of integers) or the functor has parameters
// (clamp of integers by 0.5), whose meeting point with the input is the result's.
constexpr DType unary_compute_dtype(DTypeSet domain, int parameters, DType in, DType out) {
  const bool result_decides = parameters > 0 || !contains(domain, in);
  return result_decides && contains(domain, out) ? out : in;
}

// reduce<Op>: the input's, unless only the result's is in the domain (mean of integers into floats) or the
// result is integral and the input is not: then elements are converted before they are added up.
inline DType reduce_compute_dtype(DTypeSet domain, DType in, DType out) {
  const bool narrows = is_differentiable(in) && is_integral(out, false);
  const bool only_out = !contains(domain, in) && contains(domain, out);
  return narrows || only_out ? out : in;
}

}  // namespace mt::kernels
