// Single elements of tensors, read by the stream.
#pragma once

#include "kernels/common/convert.h"
#include "ops/common/plan.h"

namespace softnpu::ops {

// The i-th element of a tensor whose first dimension alone is longer than 1, as a number; for the stream.
inline Scalar element(const View& view, int64_t i) {
  const int64_t stride = view.ndim == 0 ? 0 : view.strides[0];
  const char* at = view.as<char>() + i * stride * int64_t(mt::itemsize(view.dtype));
  if (mt::is_complex(view.dtype)) {
    mt::complex128 value;
    mt::kernels::converter(view.dtype, DType::complex128)(at, 0, reinterpret_cast<char*>(&value), 0, 1);
    return Scalar(value);
  }
  if (mt::is_floating(view.dtype)) {
    double value;
    mt::kernels::converter(view.dtype, DType::float64)(at, 0, reinterpret_cast<char*>(&value), 0, 1);
    return Scalar(value);
  }
  int64_t value;
  mt::kernels::converter(view.dtype, DType::int64)(at, 0, reinterpret_cast<char*>(&value), 0, 1);
  return view.dtype == DType::boolean ? Scalar(value != 0) : Scalar(value);
}

}  // namespace softnpu::ops
