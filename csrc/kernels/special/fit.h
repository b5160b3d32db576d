// Evaluation of Chebyshev sums.
#pragma once

#include <cstddef>

namespace mt::kernels::special {

// sum of c[k] T_k(t), by Clenshaw's recurrence.
template <size_t N>
double fitted(const double (&c)[N], double t) {
  double b1 = 0, b2 = 0;
  for (size_t k = N - 1; k > 0; --k) {
    const double b0 = 2 * t * b1 - b2 + c[k];
    b2 = b1;
    b1 = b0;
  }
  return t * b1 - b2 + c[0];
}

}  // namespace mt::kernels::special
