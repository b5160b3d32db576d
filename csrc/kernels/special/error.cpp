#include <cmath>
#include <limits>

#include "kernels/special/special.h"

namespace mt::kernels::special {

double entr(double x) {
  if (std::isnan(x)) return x;
  return x > 0 ? -x * std::log(x) : x == 0 ? 0.0 : -std::numeric_limits<double>::infinity();
}

double xlog1py(double x, double y) {
  if (std::isnan(y)) return y;
  return x == 0 ? 0.0 : x * std::log1p(y);
}

}  // namespace mt::kernels::special
