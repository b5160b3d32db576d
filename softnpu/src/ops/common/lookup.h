// Operands brought into the shape that the loops of kernels/index/indexed.h walk.
#pragma once

#include "kernels/common/convert.h"
#include "kernels/index/indexed.h"
#include "ops/common/plan.h"

namespace softnpu::ops {

// Runs on the stream: an index out of range is an error of the device.
[[noreturn]] inline void refuse_index(int64_t index, const mt::kernels::Lookup& lookup) {
  mt::fail(mt::ErrorKind::index, "index ", index, " is out of bounds for dimension ", lookup.dim,
           " with size ", lookup.size);
}

// A tensor looked up along one dimension by an int64 index that has the shape of the other operand.
struct Along {
  int64_t strides[kMaxDims];
  View table;
  mt::kernels::Lookup lookup;

  Along(const View& self, int dim, const View& index, bool wraps) {
    for (int i = 0; i < self.ndim; ++i) strides[i] = i == dim ? 0 : self.strides[i];
    table = {self.data, index.sizes, strides, self.ndim, self.dtype};
    lookup = {index, self.sizes[dim], self.strides[dim] * int64_t(mt::itemsize(self.dtype)), wraps,
              dim,   refuse_index};
  }
  Along(const Along&) = delete;
  Along& operator=(const Along&) = delete;
};

// A vector of indices seen in the shape of the other operand.
struct Spread {
  int64_t strides[kMaxDims];
  View view;

  Spread(const View& index, const View& shape, int dim) {
    for (int i = 0; i < shape.ndim; ++i) strides[i] = 0;
    strides[dim] = index.ndim == 0 ? 0 : index.strides[0];
    view = {index.data, shape.sizes, strides, shape.ndim, index.dtype};
  }
  Spread(const Spread&) = delete;
  Spread& operator=(const Spread&) = delete;
};

// A number as an operand of one element.
struct NumberView {
  alignas(16) char bytes[16];
  View view;
  NumberView(const Scalar& value, DType dtype) : view{bytes, nullptr, nullptr, 0, dtype, 1} {
    mt::kernels::store_scalar(value, dtype, bytes);
  }
  NumberView(const NumberView&) = delete;
  NumberView& operator=(const NumberView&) = delete;
};

}  // namespace softnpu::ops
