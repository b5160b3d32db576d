// Evaluation of Chebyshev sums, and the numbers at the edges of special functions.
#pragma once

#include <cstddef>
#include <limits>

namespace mt::kernels::special {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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
