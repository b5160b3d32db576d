// Rules of single operators: special functions and random numbers. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

}  // namespace mt::infer
