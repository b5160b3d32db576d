// Operators that come from a row of the operator table: a family and a functor. codegen/softnpu.py writes the
// calls.
#pragma once

#include <array>
#include <variant>

#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/reduce.h"
#include "ops/plan.h"

namespace softnpu::ops::family {

// The dtype a tensor and a number meet in: a number changes the tensor's dtype only if it is of a higher
// category.
inline DType promote_number(DType tensor, const Scalar& number) {
  if (number.category() <= mt::category(tensor)) return tensor;
  return mt::promote(tensor, number.natural_dtype(DType::float32));
}

// A tensor or a number, as the left or right side of a binary operator.
struct Side {
  Operand tensor;
  Scalar number;
  bool is_tensor;

  static Side of(Plan& plan, const aclTensor* tensor, const char* name) {
    Side side;
    side.tensor = plan.input(tensor, name);
    side.is_tensor = true;
    return side;
  }
  static Side of(Plan& plan, const aclScalar* scalar, const char* name) {
    Side side;
    side.tensor.ndim = 0;
    side.number = plan.scalar(scalar, name);
    side.is_tensor = false;
    return side;
  }

  // `element` holds the number as one element of `compute` while the view is in use.
  View view(const aclOpExecutor& executor, DType compute, void* element) const {
    if (is_tensor) return tensor.view(executor);
    mt::kernels::store_scalar(number, compute, element);
    return {element, nullptr, nullptr, 0, compute};
  }
};

inline DType promoted(const Side& a, const Side& b) {
  if (a.is_tensor && b.is_tensor) return mt::promote(a.tensor.dtype, b.tensor.dtype);
  return a.is_tensor ? promote_number(a.tensor.dtype, b.number) : promote_number(b.tensor.dtype, a.number);
}

inline void require_sides(const Plan& plan, const Side& a, const Side& b, const Operand& out) {
  if (a.is_tensor) plan.require_broadcast(a.tensor, "self", out);
  if (b.is_tensor) plan.require_broadcast(b.tensor, "other", out);
  // The result must be no larger than the two together: every dimension comes from one of them.
  for (int i = 1; i <= out.ndim; ++i) {
    auto size_of = [&](const Side& side) {
      return side.is_tensor && i <= side.tensor.ndim ? side.tensor.sizes[side.tensor.ndim - i] : 1;
    };
    if (out.sizes[out.ndim - i] != 1 && size_of(a) == 1 && size_of(b) == 1) [[unlikely]]
      plan.invalid("tensor 'out' has shape ", shape_text(out), ", larger than its operands ",
                   shape_text(a.tensor), " and ", shape_text(b.tensor));
  }
}

template <class Op, size_t N>
void unary(Plan& plan, const aclTensor* self, const std::array<Scalar, N>& params, const aclTensor* out) {
  const Operand in = plan.input(self, "self"), result = plan.output(out, "out");
  plan.require_same_shape(in, "self", result, "out");
  plan.run([in, result, params](const aclOpExecutor& executor) {
    mt::kernels::unary<Op>(in.view(executor), result.view(executor), params.data());
  });
}

template <class Op>
void predicate(Plan& plan, const aclTensor* self, const aclTensor* out) {
  const Operand in = plan.input(self, "self"), result = plan.output(out, "out");
  plan.require_same_shape(in, "self", result, "out");
  plan.run([in, result](const aclOpExecutor& executor) {
    mt::kernels::predicate<Op>(in.view(executor), result.view(executor));
  });
}

template <class Op, size_t N, class Left, class Right>
void binary(Plan& plan, const Left* self, const Right* other, const std::array<Scalar, N>& params,
            const aclTensor* out) {
  const Side a = Side::of(plan, self, "self"), b = Side::of(plan, other, "other");
  const Operand result = plan.output(out, "out");
  require_sides(plan, a, b, result);
  DType compute = promoted(a, b);
  // True division of integers, atan2 of integers: the result says that it is computed in floating point.
  if (!mt::is_differentiable(compute) && mt::is_differentiable(result.dtype)) compute = result.dtype;
  plan.run([a, b, result, compute, params](const aclOpExecutor& executor) {
    alignas(16) char left[16], right[16];
    mt::kernels::binary<Op>(a.view(executor, compute, left), b.view(executor, compute, right),
                            result.view(executor), compute, params.data());
  });
}

template <class Op, class Left, class Right>
void compare(Plan& plan, const Left* self, const Right* other, const aclTensor* out) {
  const Side a = Side::of(plan, self, "self"), b = Side::of(plan, other, "other");
  const Operand result = plan.output(out, "out");
  require_sides(plan, a, b, result);
  const DType compute = promoted(a, b);
  plan.run([a, b, result, compute](const aclOpExecutor& executor) {
    alignas(16) char left[16], right[16];
    mt::kernels::compare<Op>(a.view(executor, compute, left), b.view(executor, compute, right),
                             result.view(executor), compute);
  });
}

// `out` seen with the dimensions of `in`, size 1 where reduced; it may or may not have kept those.
inline Operand kept_dims(const Plan& plan, const Operand& in, const Operand& out,
                         const std::vector<bool>& reduced, bool keep) {
  Operand kept = out;
  int next = 0;
  kept.ndim = in.ndim;
  bool fits = true;
  for (int i = 0; i < in.ndim; ++i) {
    const bool gone = reduced[size_t(i)];
    const int64_t wanted = gone ? 1 : in.sizes[i];
    if (gone && !keep) {
      kept.sizes[i] = 1, kept.strides[i] = 0;
      continue;
    }
    fits = fits && next < out.ndim && out.sizes[next] == wanted;
    kept.sizes[i] = wanted;
    kept.strides[i] = fits ? out.strides[next] : 0;
    ++next;
  }
  if (!fits || next != out.ndim)
    plan.invalid("tensor 'out' has shape ", shape_text(out), ", which is not the shape ", shape_text(in),
                 " reduced over the given dimensions with keepDims=", keep ? "true" : "false");
  return kept;
}

template <class Op>
void reduce(Plan& plan, const aclTensor* self, const aclIntArray* dims, bool keep, const aclTensor* out) {
  const Operand in = plan.input(self, "self"), given = plan.output(out, "out");
  const Operand result = kept_dims(plan, in, given, plan.dims(dims, in), keep);
  plan.run([in, result](const aclOpExecutor& executor) {
    mt::kernels::reduce<Op>(in.view(executor), result.view(executor));
  });
}

}  // namespace softnpu::ops::family
