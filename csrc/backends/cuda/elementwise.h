// Elementwise operators: a functor of csrc/kernels over tensors of any strides and dtypes, as one launch.
#pragma once

#include "backends/cuda/compiler.h"
#include "core/dispatch.h"
#include "kernels/common/types.h"

namespace mt::cuda {

// What the host has to know of a functor; its expression is in the text that the device compiles.
struct Functor {
  const char* name;   // "exp_op"
  const char* space;  // its namespace, "mt::kernels::"
  int parameters;
  kernels::DTypeSet domain;
};
template <class F>
inline constexpr Functor functor_of{F::name, "mt::kernels::", F::parameters, F::domain};

// An operand: a tensor, or a number that is the same for all elements.
struct Operand {
  const Tensor* tensor = nullptr;
  const Scalar* number = nullptr;
  Operand(const Tensor& given) : tensor(&given) {}
  Operand(const Scalar& given) : number(&given) {}
};

// out = functor(operands…), computed in `compute` (float for halves). Operands broadcast to out's shape.
void run_elementwise(const Functor& functor, Variants& variants, const char* name, DType compute,
                     const Tensor& out, std::initializer_list<Operand> operands, const Scalar* parameters);

// The families of the table.
void run_unary(const Functor& functor, Variants& variants, const char* name, const Tensor& self,
               const Tensor& out, const Scalar* parameters, bool to_bool);

}  // namespace mt::cuda
