// Larger pieces of formulas: convolution, pooling, normalisation and the rest of neural networks.
#pragma once

#include <array>

#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

}  // namespace mt::formulas
