// Rules of single operators: complex numbers and Fourier transforms. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

}  // namespace mt::infer
