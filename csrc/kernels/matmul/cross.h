// Cross products of vectors of three numbers.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Along `dim`, whose size is 3 everywhere; a and b broadcast to out and have its dtype.
void cross(const View& a, const View& b, const View& out, int dim);

}  // namespace mt::kernels
