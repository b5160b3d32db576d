// Elementwise operations over views of any dtype and strides. Inputs broadcast to the result's shape.
// The templates take a functor of functors.h; their definitions are in elementwise_impl.h.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Note [Numbers and half precision]
// Half types are computed in float. PyTorch then multiplies and divides by a number (or a 0-dim tensor of another dtype)
// as it is, but rounds it to the half type for every other operator, and alpha as well. Losses agree with PyTorch's
// only if we do the same. functors.h says which operators are which.
// Its vectors of half numbers on x86-64 add the product with alpha in float; elsewhere each step is an operation on
// half numbers, so the product is rounded, too. Each architecture does as PyTorch does there.
template <class Op> inline constexpr bool exact_right = false;
template <class Op> inline constexpr int operand_of_alpha = -1;  // which of the operands p[0] multiplies

// Computes in the input's dtype (in the result's, where only that is in the functor's domain: exp of integers
// into floats) and converts to the result's dtype.
template <class Op> void unary(const View& in, const View& out, const Scalar* params = nullptr);
template <class Op> void predicate(const View& in, const View& out);
// Operands are converted to `compute` first; the result to out's dtype last.
template <class Op>
void binary(const View& a, const View& b, const View& out, DType compute, const Scalar* params = nullptr);
template <class Op>
void ternary(const View& a, const View& b, const View& c, const View& out, DType compute,
             const Scalar* params = nullptr);
template <class Op> void compare(const View& a, const View& b, const View& out, DType compute);
// out = cond ? a : b; cond is converted to bool, a and b to out's dtype.
void where(const View& cond, const View& a, const View& b, const View& out);

}  // namespace mt::kernels
