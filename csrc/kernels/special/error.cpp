#include <cmath>

#include "kernels/special/special.h"

namespace mt::kernels::special {

double xlog1py(double x, double y) {
  if (std::isnan(y)) return y;
  return x == 0 ? 0.0 : x * std::log1p(y);
}

}  // namespace mt::kernels::special
