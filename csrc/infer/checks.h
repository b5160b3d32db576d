// Checks that rules of several areas share with each other, with operators made of others, and with the bindings.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

// What an extremum says when there is nothing to take it of, in the name of the operator called.
void check_extremum(const char* name, const Tensor& self, const DimList& dim);
void check_max_all(const Tensor& self);
void check_min_all(const Tensor& self);

void check_inversion(const Tensor& self);

// Of float32 or float64, which have complex types.
inline bool is_float_or_double(const Tensor& t) {
  return t.dtype() == DType::float32 || t.dtype() == DType::float64;
}
void check_float_or_double(const Tensor& t, const char* name);
void check_complex_parts(const Tensor& real, const Tensor& imag);

// The last dimensions of the input must be `shape`, and so must a parameter's.
void check_normalized_shape(const Tensor& input, IntList shape);
void check_shape_like(const char* name, const Tensor& parameter, IntList shape);

}  // namespace mt::infer
