// Operators that come from a row of the operator table: a family and a functor. codegen/softnpu.py writes the
// calls.
#pragma once

#include <array>
#include <string_view>

#include "kernels/common/convert.h"
#include "kernels/elementwise/compute_dtype.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/reduce/reduce.h"
#include "ops/common/plan.h"

namespace softnpu::ops::family {

// The dtype a tensor and a number meet in: a number changes the tensor's dtype only if it is of a higher
// category.
inline DType promote_number(DType tensor, const Scalar& number) {
  if (number.category() <= mt::category(tensor)) return tensor;
  return mt::promote(tensor, number.natural_dtype(DType::float32));
}

// A parameter of the operator with the name that messages give it.
template <class Handle>
struct Argument {
  const Handle* handle;
  const char* name;
};

// A tensor or a number, as the left or right side of a binary operator.
struct Side {
  Operand tensor;
  Scalar number;
  bool is_tensor;

  static Side of(Plan& plan, Argument<aclTensor> argument) {
    return {plan.input(argument.handle, argument.name), {}, true};
  }
  static Side of(Plan& plan, Argument<aclScalar> argument) {
    Side side;
    side.tensor.ndim = 0;
    side.number = plan.scalar(argument.handle, argument.name);
    side.is_tensor = false;
    return side;
  }

  // `element` holds the number as one element of `compute` while the view is in use.
  View view(const aclOpExecutor& executor, DType compute, void* element) const {
    if (is_tensor) return tensor.view(executor);
    mt::kernels::store_scalar(number, compute, element);
    return {element, nullptr, nullptr, 0, compute};
  }

  // What it is, for messages: "tensor 'self' is float32", "scalar 'other' is a complex number".
  std::string text(const char* name) const {
    static constexpr const char* kNumbers[] = {"a bool", "an integer", "a floating number",
                                               "a complex number"};
    return mt::join_text(is_tensor ? "tensor '" : "scalar '", name, "' is ",
                         is_tensor ? mt::info(tensor.dtype).name : kNumbers[int(number.category())]);
  }
};

inline DType promoted(const Side& a, const Side& b) {
  if (a.is_tensor && b.is_tensor) return mt::promote(a.tensor.dtype, b.tensor.dtype);
  return a.is_tensor ? promote_number(a.tensor.dtype, b.number) : promote_number(b.tensor.dtype, a.number);
}

inline void require_sides(const Plan& plan, const Side& a, const char* a_name, const Side& b,
                          const char* b_name, const Operand& out, const char* out_name) {
  if (a.is_tensor) plan.require_broadcast(a.tensor, a_name, out);
  if (b.is_tensor) plan.require_broadcast(b.tensor, b_name, out);
  // The result must be no larger than the two together: every dimension comes from one of them.
  for (int i = 1; i <= out.ndim; ++i) {
    auto size_of = [&](const Side& side) {
      return side.is_tensor && i <= side.tensor.ndim ? side.tensor.sizes[side.tensor.ndim - i] : 1;
    };
    if (out.sizes[out.ndim - i] != 1 && size_of(a) == 1 && size_of(b) == 1) [[unlikely]]
      plan.invalid("tensor '", out_name, "' has shape ", shape_text(out), ", larger than its operands ",
                   shape_text(a.tensor), " and ", shape_text(b.tensor));
  }
}

// Refuses a dtype outside a functor's domain, in PyTorch's words. `operands` says what was got.
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void refuse_domain(const Plan& plan, std::string_view functor,
                                                          DTypeSet domain, DType dtype,
                                                          const Parts&... operands) {
  functor.remove_suffix(functor.ends_with("_op") ? 3 : 0);
  plan.invalid('"', functor, "\" not implemented for '", mt::info(dtype).legacy, "': ", operands...,
               ", wanted ", dtypes_text(domain));
}

template <class Op>
void require_unary(const Plan& plan, const Operand& in, const char* in_name, const Operand& out,
                   const char* out_name) {
  const DType compute = mt::kernels::unary_compute_dtype(Op::domain, Op::parameters, in.dtype, out.dtype);
  if (!mt::kernels::contains(Op::domain, compute)) [[unlikely]]
    refuse_domain(plan, Op::name, Op::domain, compute, "tensor '", in_name, "' is ", mt::info(in.dtype).name,
                  " and '", out_name, "' is ", mt::info(out.dtype).name);
}

template <class Op>
void require_binary(const Plan& plan, DType compute, const Side& a, const char* a_name, const Side& b,
                    const char* b_name) {
  if (!mt::kernels::contains(Op::domain, compute)) [[unlikely]]
    refuse_domain(plan, Op::name, Op::domain, compute, a.text(a_name), " and ", b.text(b_name),
                  ", which meet in ", mt::info(compute).name);
}

template <class Op, size_t N>
void unary(Plan& plan, Argument<aclTensor> self, const std::array<Scalar, N>& params,
           Argument<aclTensor> out) {
  const Operand in = plan.input(self.handle, self.name), result = plan.output(out.handle, out.name);
  require_unary<Op>(plan, in, self.name, result, out.name);
  plan.require_same_shape(in, self.name, result, out.name);
  plan.run_made([&] {
    return [in, result, params](const aclOpExecutor& executor) {
      mt::kernels::unary<Op>(in.view(executor), result.view(executor), params.data());
    };
  });
}

template <class Op>
void predicate(Plan& plan, Argument<aclTensor> self, Argument<aclTensor> out) {
  const Operand in = plan.input(self.handle, self.name), result = plan.output(out.handle, out.name);
  if (!mt::kernels::contains(Op::domain, in.dtype)) [[unlikely]]
    refuse_domain(plan, Op::name, Op::domain, in.dtype, "tensor '", self.name, "' is ",
                  mt::info(in.dtype).name);
  plan.require_same_shape(in, self.name, result, out.name);
  plan.run_made([&] {
    return [in, result](const aclOpExecutor& executor) {
      mt::kernels::predicate<Op>(in.view(executor), result.view(executor));
    };
  });
}

template <class Op, size_t N, class Left, class Right>
void binary(Plan& plan, Argument<Left> self, Argument<Right> other, const std::array<Scalar, N>& params,
            Argument<aclTensor> out) {
  const Side a = Side::of(plan, self), b = Side::of(plan, other);
  const Operand result = plan.output(out.handle, out.name);
  DType compute = promoted(a, b);
  // True division of integers, atan2 of integers: the result says that it is computed in floating point.
  if (!mt::is_differentiable(compute) && mt::is_differentiable(result.dtype)) compute = result.dtype;
  require_binary<Op>(plan, compute, a, self.name, b, other.name);
  require_sides(plan, a, self.name, b, other.name, result, out.name);
  plan.run_made([&] {
    return [a, b, result, compute, params](const aclOpExecutor& executor) {
      alignas(16) char left[16], right[16];
      mt::kernels::binary<Op>(a.view(executor, compute, left), b.view(executor, compute, right),
                              result.view(executor), compute, params.data());
    };
  });
}

template <class Op, class Left, class Right>
void compare(Plan& plan, Argument<Left> self, Argument<Right> other, Argument<aclTensor> out) {
  const Side a = Side::of(plan, self), b = Side::of(plan, other);
  const Operand result = plan.output(out.handle, out.name);
  const DType compute = promoted(a, b);
  require_binary<Op>(plan, compute, a, self.name, b, other.name);
  require_sides(plan, a, self.name, b, other.name, result, out.name);
  plan.run_made([&] {
    return [a, b, result, compute](const aclOpExecutor& executor) {
      alignas(16) char left[16], right[16];
      mt::kernels::compare<Op>(a.view(executor, compute, left), b.view(executor, compute, right),
                               result.view(executor), compute);
    };
  });
}

// Three tensors that broadcast and meet in one dtype.
template <class Op, size_t N>
void ternary(Plan& plan, Argument<aclTensor> first, Argument<aclTensor> second, Argument<aclTensor> third,
             const std::array<Scalar, N>& params, Argument<aclTensor> out) {
  const Operand a = plan.input(first.handle, first.name), b = plan.input(second.handle, second.name),
                c = plan.input(third.handle, third.name), result = plan.output(out.handle, out.name);
  const DType compute = mt::promote(mt::promote(a.dtype, b.dtype), c.dtype);
  if (!mt::kernels::contains(Op::domain, compute)) [[unlikely]]
    refuse_domain(plan, Op::name, Op::domain, compute, "tensors '", first.name, "', '", second.name,
                  "' and '", third.name, "' meet in ", mt::info(compute).name);
  plan.require_broadcast(a, first.name, result);
  plan.require_broadcast(b, second.name, result);
  plan.require_broadcast(c, third.name, result);
  plan.run_made([&] {
    return [=](const aclOpExecutor& executor) {
      mt::kernels::ternary<Op>(a.view(executor), b.view(executor), c.view(executor), result.view(executor),
                               compute, params.data());
    };
  });
}

// `out` seen with the dimensions of `in`, size 1 where reduced; it may or may not have kept those.
inline Operand kept_dims(const Plan& plan, const Operand& in, const Operand& out, DimSet reduced, bool keep) {
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

inline DimSet one_dim(const Plan& plan, int64_t dim, const Operand& of) {
  return DimSet().set(size_t(plan.dim(dim, of)));
}

// A result of one element, whatever its shape, as the reduction of all dimensions.
inline Operand of_everything(const Plan& plan, const Operand& in, const Operand& out) {
  if (out.numel() != 1) plan.invalid("tensor 'out' has shape ", shape_text(out), ", wanted one element");
  Operand seen = out;
  seen.ndim = 0;
  return kept_dims(plan, in, seen, DimSet().set(), false);
}

template <class Op>
void reduce(Plan& plan, Argument<aclTensor> self, const aclIntArray* dims, bool keep,
            Argument<aclTensor> out) {
  const Operand in = plan.input(self.handle, self.name), given = plan.output(out.handle, out.name);
  if (!mt::kernels::contains(
          Op::domain, mt::kernels::reduce_compute_dtype(Op::domain, in.dtype, given.dtype))) [[unlikely]]
    refuse_domain(plan, Op::name, Op::domain, in.dtype, "tensor '", self.name, "' is ",
                  mt::info(in.dtype).name, " and '", out.name, "' is ", mt::info(given.dtype).name);
  const Operand result = kept_dims(plan, in, given, plan.dims(dims, in), keep);
  plan.run_made([&] {
    return [in, result](const aclOpExecutor& executor) {
      mt::kernels::reduce<Op>(in.view(executor), result.view(executor));
    };
  });
}

}  // namespace softnpu::ops::family
