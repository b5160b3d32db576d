// In-place and out= variants: of operators that are written in terms of others, where the result is made, then moved,
// and of kernels that cannot write over what they read.
#pragma once

#include "core/dispatch.h"

namespace mt::results {

// What an in-place composite computes from: `self`, or a copy where the backward pass may read it after the write.
Tensor before_write(const Tensor& self, bool needs_grad);
// Writes `result` over `self`, with its history; shape and dtype must suit.
const Tensor& write_back(const Tensor& self, const Tensor& result);
// Writes `result` into the caller's out=, which is resized if need be.
void write_out(const Tensor& out, const Tensor& result);

// `read`, or a copy of it if writing to `written` may change it: for kernels that read an operand after they have
// written a part of their result.
Tensor apart(const Tensor& written, const Tensor& read);

}  // namespace mt::results
