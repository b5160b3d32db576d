// A view without one of its dimensions.
#pragma once

#include "base/error.h"
#include "kernels/common/iterate.h"

namespace mt::kernels {

struct WithoutDim {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  View view;
  WithoutDim(const View& from, int dim) {
    MT_CHECK(from.ndim <= kMaxDims, "tensors with more than ", kMaxDims, " dimensions are not supported");
    int count = 0;
    for (int d = 0; d < from.ndim; ++d) {
      if (d == dim) continue;
      sizes[count] = from.sizes[d];
      strides[count++] = from.strides[d];
    }
    view = {from.data, sizes, strides, count, from.dtype};
  }
};

}  // namespace mt::kernels
