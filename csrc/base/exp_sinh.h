// A rule for integrals from 0 to infinity of what falls exponentially.
#pragma once

#include <cmath>

namespace mt {

// Note [Slopes of samples]
//
// A sample x with the distribution function F(x; a) that stays at its quantile moves by dx/da = -(dF/da) / (dF/dx).
// dF/da is an integral of the density p times d(log p)/da from the lower end to x, or of its negative from x to the
// upper end; from x towards the end that is away from the mean, p falls all the way. With t = x exp(+-s) for gamma
// numbers, and logit t = logit x +- s for beta numbers, s runs from 0 to infinity and the integrand is smooth and falls at
// least exponentially, which is what the exp-sinh rule is for: s = exp(u - exp(-u)) / rate, at equal steps of u. `rate` is
// about how fast the integrand falls; it may be off by a factor of ten. Towards the lower end one integration by parts
// has been done, so that all terms have one sign and nothing cancels where a is small. 58 points give four digits
// for parameters around 1e-3, eight for those around 1 and more above.
//
// csrc/kernels/random/slopes.cpp has the formulas for numbers, csrc/ops/substitutes/random.cpp the same as operators.
struct ExpSinh {
  static constexpr int kPoints = 58;
  static constexpr double kStep = 0.12, kFirst = -3.2;
  double nodes[kPoints], weights[kPoints];

  ExpSinh() {
    for (int i = 0; i < kPoints; ++i) {
      const double u = kFirst + i * kStep, e = std::exp(-u);
      nodes[i] = std::exp(u - e);
      weights[i] = kStep * nodes[i] * (1 + e);
    }
  }
};

}  // namespace mt
