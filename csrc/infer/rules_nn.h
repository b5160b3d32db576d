// Rules of single operators: convolution, pooling, normalisation and the rest of neural networks. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

}  // namespace mt::infer
