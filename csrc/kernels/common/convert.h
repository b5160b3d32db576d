// Moving runs of elements between dtypes and strides: the one place that knows all pairs of element types.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/scalar.h"

namespace mt::kernels {

// Converts n elements; strides are in bytes and may be 0 or negative. Source and target must not overlap
// unless they coincide exactly.
using Converter = void (*)(const char* source, int64_t source_stride, char* target, int64_t target_stride,
                           int64_t n);
Converter converter(DType from, DType to);

// Writes the first element n times, one after the other (itemsize is 1, 2, 4, 8 or 16).
void repeat(const char* element, size_t itemsize, char* target, int64_t n);
// Each of n elements `times` times, one after the other. Vectors are written whole, so behind the last one there must be room.
inline constexpr int64_t kRoomBehindRepeated = 32;  // bytes
void repeat_each(const char* elements, size_t itemsize, int64_t n, int64_t times, char* target);

// Writes a Scalar as one element of `dtype`.
void store_scalar(const Scalar& value, DType dtype, void* target);
// Writes Scalars one after the other in the compute type of `dtype` (float for half types).
void store_parameters(const Scalar* values, int count, DType dtype, void* target);

}  // namespace mt::kernels
