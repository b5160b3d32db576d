// Parts and other sights of an operand: slices, diagonals, broadcasts.
#pragma once

#include <utility>

#include "ops/common/shapes.h"

namespace softnpu::ops {

inline int64_t item_bytes(const Operand& operand) { return int64_t(mt::itemsize(operand.dtype)); }

// Elements start, start + step, ... along a dimension, `count` of them.
inline Operand sliced(const Operand& operand, int dim, int64_t start, int64_t count, int64_t step = 1) {
  Operand result = operand;
  result.offset += start * operand.strides[dim] * item_bytes(operand);
  result.sizes[dim] = count;
  result.strides[dim] *= step;
  return result;
}

// Read from the end to the beginning along a dimension.
inline Operand mirrored(const Operand& operand, int dim) {
  return operand.sizes[dim] == 0 ? operand
                                 : sliced(operand, dim, operand.sizes[dim] - 1, operand.sizes[dim], -1);
}

inline Operand swapped(const Operand& operand, int a, int b) {
  Operand result = operand;
  std::swap(result.sizes[a], result.sizes[b]);
  std::swap(result.strides[a], result.strides[b]);
  return result;
}

inline Operand with_dim(const Plan& plan, const Operand& operand, int at, int64_t size, int64_t stride) {
  if (operand.ndim >= kMaxDims)
    plan.invalid("shape ", shape_text(operand), " with one more dimension has more than ", kMaxDims);
  Operand result = operand;
  ++result.ndim;
  for (int i = operand.ndim; i > at; --i)
    result.sizes[i] = operand.sizes[i - 1], result.strides[i] = operand.strides[i - 1];
  result.sizes[at] = size, result.strides[at] = stride;
  return result;
}

inline Operand without_dim(const Operand& operand, int at) {
  Operand result = operand;
  --result.ndim;
  for (int i = at; i < result.ndim; ++i)
    result.sizes[i] = operand.sizes[i + 1], result.strides[i] = operand.strides[i + 1];
  return result;
}

// The diagonal that starts `offset` columns to the right of the corner (rows below it, if negative) of the matrices of
// two dimensions; it becomes the last dimension.
inline Operand diagonal_of(const Operand& operand, int64_t offset, int row, int column) {
  const int64_t below = std::max<int64_t>(-offset, 0), right = std::max<int64_t>(offset, 0);
  const int64_t length =
      std::max<int64_t>(std::min(operand.sizes[row] - below, operand.sizes[column] - right), 0);
  Operand result = without_dim(without_dim(operand, std::max(row, column)), std::min(row, column));
  if (length > 0)
    result.offset += (below * operand.strides[row] + right * operand.strides[column]) * item_bytes(operand);
  result.sizes[result.ndim] = length;
  result.strides[result.ndim] = operand.strides[row] + operand.strides[column];
  ++result.ndim;
  return result;
}

// Broadcast to other sizes, aligned at the last dimension.
inline Operand broadcast_to(const Plan& plan, const Operand& operand, const char* name, const int64_t* sizes,
                            int ndim) {
  Operand result = operand;
  result.ndim = int16_t(ndim);
  bool fits = ndim <= kMaxDims && operand.ndim <= ndim;
  for (int i = 0; fits && i < ndim; ++i) {
    const int own = i - (ndim - operand.ndim);
    const bool repeated = own < 0 || operand.sizes[own] == 1;
    fits = repeated || operand.sizes[own] == sizes[i];
    result.sizes[i] = sizes[i];
    result.strides[i] = repeated ? 0 : operand.strides[own];
  }
  if (!fits) plan.invalid("tensor '", name, "' of shape ", shape_text(operand), " does not broadcast");
  return result;
}
inline Operand broadcast_to(const Plan& plan, const Operand& operand, const char* name, const Operand& like) {
  return broadcast_to(plan, operand, name, like.sizes, like.ndim);
}

// A tensor of one element as a scalar.
inline Operand single_element(const Plan& plan, const Operand& operand, const char* name) {
  if (operand.numel() != 1)
    plan.invalid("tensor '", name, "' has shape ", shape_text(operand), ", wanted one element");
  Operand result = operand;
  result.ndim = 0;
  return result;
}

// Strides of row-major order.
inline void set_contiguous(Operand& operand) {
  int64_t stride = 1;
  for (int i = operand.ndim - 1; i >= 0; --i) {
    operand.strides[i] = stride;
    stride *= std::max<int64_t>(operand.sizes[i], 1);
  }
}
inline bool is_contiguous(const Operand& operand) {
  int64_t stride = 1;
  for (int i = operand.ndim - 1; i >= 0; --i) {
    if (operand.sizes[i] != 1 && operand.strides[i] != stride) return false;
    stride *= operand.sizes[i];
  }
  return true;
}

}  // namespace softnpu::ops
