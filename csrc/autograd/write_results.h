// In-place and out= variants of operators that are written in terms of others: the result is made, then moved.
#pragma once

#include "core/dispatch.h"

namespace mt::composite {

// What an in-place composite computes from: `self`, or a copy where the backward pass may read it after the write.
Tensor before_write(const Tensor& self, bool needs_grad);
// Writes `result` over `self`, with its history; shape and dtype must suit.
const Tensor& write_back(const Tensor& self, const Tensor& result);
// Writes `result` into the caller's out=, which is resized if need be.
void write_out(const Tensor& out, const Tensor& result);

}  // namespace mt::composite
