// What substitutes of several areas are made with.
#pragma once

#include <limits>

#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "infer/infer.h"

namespace mt::substitutes {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A number as a 0-dim tensor beside `like`, filled on the device.
inline Tensor number_beside(const Scalar& value, const Tensor& like) {
  return ops::full({}, value, TensorOptions{infer::result_type(like, value), like.device()});
}

// Half types as float, so that only the result is rounded to half.
inline Tensor wide(const Tensor& self) {
  const bool half = self.dtype() == DType::float16 || self.dtype() == DType::bfloat16;
  return half ? ops::_to_copy(self, DType::float32) : self;
}

// For indices into `like`.
inline TensorOptions places_beside(const Tensor& like) { return {DType::int64, like.device()}; }

}  // namespace mt::substitutes
