// Larger pieces of formulas: activations and elementwise pieces.
#pragma once

#include <array>

#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

}  // namespace mt::formulas
