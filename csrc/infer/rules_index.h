// Rules of single operators: indexing, gathering and scattering. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

}  // namespace mt::infer
