// Rules of single operators: reductions, sorting and cumulative operators. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

}  // namespace mt::infer
