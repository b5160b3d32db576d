// Larger pieces of formulas: shapes and windows.
#pragma once

#include <array>

#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

}  // namespace mt::formulas
