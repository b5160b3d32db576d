// What tensors used as indices give.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

inline bool is_index_type(DType t) { return t == DType::int64 || t == DType::int32; }
// A shape with at least one dimension.
inline Dims at_least_1d(IntList sizes) { return sizes.empty() ? Dims{1} : Dims(sizes); }

// What indexing with several tensors gives. If the indexed dimensions lie next to each other, the dimensions of the
// broadcast indices take their place; if not, they come first.
struct Indexing {
  Dims sizes;          // of the result
  Dims table_strides;  // of the indexed tensor in that shape: 0 along the indices' dimensions
  Dims index_sizes;    // of the broadcast indices
  size_t first = 0;    // where those begin in `sizes`
  Dims dims;           // the indexed dimensions
};
Indexing indexing(const Tensor& self, TensorList indices);

}  // namespace mt::infer
