// Larger pieces of formulas: linear algebra.
#pragma once

#include <array>

#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

}  // namespace mt::formulas
