// Eigenvectors of real matrices as complex numbers, from the real columns that LAPACK's convention keeps them in.
//
// Launch (EigenvectorsCall): block 256, any grid; elements of the result are strided over.
//   eigenvectors_unpacked<T>: of a conjugate pair, whose first eigenvalue has the positive imaginary part, the first column is
//   the real and the second the imaginary part of the first eigenvector; the second is its conjugate.
#pragma once

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"

namespace mt::cuda {

template <class T> void eigenvectors_unpacked(const EigenvectorsCall& call) {
  const T* values = static_cast<const T*>(call.values);
  const T* packed = static_cast<const T*>(call.packed);
  T* out = static_cast<T*>(call.out);
  for (int64_t n = first_index(); n < call.matrices * call.size * call.size; n += grid_step()) {
    const T side = values[n / call.size * 2 + 1];
    out[2 * n] = packed[side < T(0) ? n - call.size : n];
    out[2 * n + 1] = side > T(0) ? packed[n + call.size] : side < T(0) ? -packed[n] : T(0);
  }
}

}  // namespace mt::cuda
