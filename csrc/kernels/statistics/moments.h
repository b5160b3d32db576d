// Mean and variance of real numbers over some dimensions, in one pass over memory.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Results have in's dimensions with size 1 where reduced; `mean` may be null. The variance is the sum of squared
// deviations divided by (count - correction), or by 0 where that is negative; `root` takes its square root. Any
// real dtypes; everything is computed in double.
void moments(const View& in, const View& variance, const View* mean, double correction, bool root);

}  // namespace mt::kernels
