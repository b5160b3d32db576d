// Larger pieces of formulas: special functions and random numbers.
#pragma once

#include <array>

#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

}  // namespace mt::formulas
