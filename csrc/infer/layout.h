// How results of elementwise operators lie in memory.
#pragma once

#include <initializer_list>

#include "infer/infer.h"

namespace mt::infer {

// Strides without holes whose dimensions are in the order of the first operand that says which of two lies outside. A
// stride of 0 (a dimension that is broadcast) says nothing.
Dims dense_strides(IntList sizes, std::initializer_list<const Tensor*> operands);

// Whether the strides of an image, which may have holes, are in the order of one whose channels come last.
bool suggests_channels_last(const Tensor& t);

// Operands that are all contiguous, or all have their channels last, make such a result; otherwise it has dense_strides.
void prepare_elementwise(Output& out, IntList sizes, DType dtype, Device device,
                         std::initializer_list<const Tensor*> operands);

}  // namespace mt::infer
