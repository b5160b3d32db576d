// Products of float32 matrices by tensor cores, with float32's accuracy.
#pragma once

#include "backends/cuda/cublas_lt.h"

namespace mt::cuda {

// Launches the product where that is faster than cuBLASLt; false: it is left to that. Note [Which products of floats]
bool multiply_floats(const Place& place, const ProductShape& shape, const ProductPointers& pointers,
                     const char* name);

}  // namespace mt::cuda
