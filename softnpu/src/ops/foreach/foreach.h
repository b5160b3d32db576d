// Operators over lists of tensors: what is done to one tensor, for each in turn.
#pragma once

#include "kernels/common/copy.h"
#include "ops/common/elements.h"
#include "ops/common/shapes.h"
#include "ops/common/shorthand.h"

namespace softnpu::ops::lists {

using Operands = std::vector<Operand>;

inline void require_length(const Plan& plan, size_t got, const char* name, size_t wanted) {
  if (got != wanted)
    plan.invalid("list '", name, "' has ", got, " entries, wanted ", wanted, " as the first list has");
}

// The lists of an operator: `x` first, results last. NULL results are those of an in-place operator.
inline Operands results(Plan& plan, const aclTensorList* out, const aclTensorList* in) {
  return out == nullptr ? plan.outputs(in, "x") : plan.outputs(out, "out");
}

// A number per tensor: given as one for all, as a list, or as tensors that the stream will read.
class Numbers {
 public:
  static Numbers all(const Scalar& value) { return Numbers({value}, std::nullopt, true); }
  static Numbers all(Plan& plan, const aclScalar* scalar, const char* name) {
    return all(plan.scalar(scalar, name));
  }
  static Numbers all(Plan& plan, const aclTensor* tensor, const char* name) {
    const Operand value = vector_of(plan, tensor, name);
    if (value.numel() != 1)
      plan.invalid("tensor '", name, "' has shape ", shape_text(value), ", wanted one element");
    return Numbers({}, value, true);
  }
  static Numbers each(Plan& plan, const aclScalarList* list, const char* name, size_t count) {
    Numbers numbers(plan.scalars(list, name), std::nullopt, false);
    require_length(plan, numbers.values_.size(), name, count);
    return numbers;
  }
  static Numbers each(Plan& plan, const aclTensor* tensor, const char* name, size_t count) {
    const Operand values = vector_of(plan, tensor, name);
    require_length(plan, size_t(values.numel()), name, count);
    return Numbers({}, values, false);
  }

  Scalar at(size_t i, const aclOpExecutor& e) const {
    const size_t index = shared_ ? 0 : i;
    return on_device_ ? element(on_device_->view(e), int64_t(index)) : values_[index];
  }
  // The dtype that a tensor and its number meet in.
  DType meet(const Operand& tensor, size_t i) const {
    if (!on_device_) return family::promote_number(tensor.dtype, values_[shared_ ? 0 : i]);
    const DType given = on_device_->dtype;
    const Scalar kind = mt::is_complex(given)    ? Scalar(mt::complex128(0))
                        : mt::is_floating(given) ? Scalar(0.0)
                                                 : Scalar(int64_t(0));
    return family::promote_number(tensor.dtype, kind);
  }

 private:
  Numbers(std::vector<Scalar> values, std::optional<Operand> on_device, bool shared)
      : values_(std::move(values)), on_device_(on_device), shared_(shared) {}
  static Operand vector_of(Plan& plan, const aclTensor* tensor, const char* name) {
    const Operand values = at_least_1d(plan.input(tensor, name));
    if (values.ndim != 1 && values.numel() != 1)
      plan.invalid("tensor '", name, "' has shape ", shape_text(values), ", wanted one dimension");
    plan.require_dtype(values, name, domains::every);
    return values;
  }

  std::vector<Scalar> values_;
  std::optional<Operand> on_device_;
  bool shared_;
};

// A number as one element; half types compute in float, so it is not rounded to them.
struct NumberView {
  alignas(16) char bytes[16];
  View view;
  NumberView(const Scalar& value, DType compute) {
    if (compute == DType::float16 || compute == DType::bfloat16) compute = DType::float32;
    k::store_scalar(value, compute, bytes);
    view = {bytes, nullptr, nullptr, 0, compute};
  }
};

inline void require_domain(const Plan& plan, const char* functor, DTypeSet domain, DType compute,
                           const Operand& in) {
  if (!k::contains(domain, compute)) [[unlikely]]
    family::refuse_domain(plan, functor, domain, compute, "a tensor of the list 'x' is ",
                          mt::info(in.dtype).name);
}

template <class Op>
void unary(Plan& plan, const aclTensorList* x, const aclTensorList* out) {
  const Operands in = plan.inputs(x, "x"), to = results(plan, out, x);
  require_length(plan, to.size(), "out", in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    family::require_unary<Op>(plan, in[i], "x", to[i], "out");
    plan.require_same_shape(in[i], "x", to[i], "out");
  }
  plan.run([in, to](const aclOpExecutor& e) {
    for (size_t i = 0; i < in.size(); ++i) k::unary<Op>(in[i].view(e), to[i].view(e));
  });
}

// Lists are planned in the order of the parameters, and a tensor that holds numbers after them.
struct Two {
  Operands a, b;
  const aclTensorList* first;
  Two(Plan& plan, const aclTensorList* x1, const aclTensorList* x2)
      : a(plan.inputs(x1, "x1")), b(plan.inputs(x2, "x2")), first(x1) {
    require_length(plan, b.size(), "x2", a.size());
  }
};

// x1 and x2 tensor by tensor; `numbers` is the functor's parameter, where it has one.
template <class Op>
void binary(Plan& plan, const Two& x, const Numbers& numbers, const aclTensorList* out) {
  const Operands &a = x.a, &b = x.b, to = results(plan, out, x.first);
  require_length(plan, to.size(), "out", a.size());
  std::vector<DType> compute;
  for (size_t i = 0; i < a.size(); ++i) {
    compute.push_back(mt::promote(a[i].dtype, b[i].dtype));
    require_domain(plan, Op::name, Op::domain, compute[i], a[i]);
    plan.require_broadcast(a[i], "x1", to[i]);
    plan.require_broadcast(b[i], "x2", to[i]);
  }
  plan.run([a, b, to, compute, numbers](const aclOpExecutor& e) {
    for (size_t i = 0; i < a.size(); ++i) {
      const Scalar number = numbers.at(i, e);
      k::binary<Op>(a[i].view(e), b[i].view(e), to[i].view(e), compute[i], &number);
    }
  });
}

// Every tensor with its number, on the right or (`reversed`) on the left; a functor with a parameter gets 1.
template <class Op>
void with_number(Plan& plan, const Operands& in, const Numbers& numbers, const Operands& to,
                 bool reversed = false) {
  require_length(plan, to.size(), "out", in.size());
  std::vector<DType> compute;
  for (size_t i = 0; i < in.size(); ++i) {
    DType meeting = numbers.meet(in[i], i);
    if (!mt::is_differentiable(meeting) && mt::is_differentiable(to[i].dtype)) meeting = to[i].dtype;
    compute.push_back(meeting);
    require_domain(plan, Op::name, Op::domain, meeting, in[i]);
    plan.require_same_shape(in[i], "x", to[i], "out");
  }
  plan.run([=](const aclOpExecutor& e) {
    const Scalar one(int64_t(1));
    for (size_t i = 0; i < in.size(); ++i) {
      const NumberView number(numbers.at(i, e), compute[i]);
      const View tensor = in[i].view(e);
      k::binary<Op>(reversed ? number.view : tensor, reversed ? tensor : number.view, to[i].view(e),
                    compute[i], &one);
    }
  });
}
template <class Op>
void with_number(Plan& plan, const aclTensorList* x, const aclScalar* scalar, const aclTensorList* out) {
  const Operands in = plan.inputs(x, "x");
  const Numbers numbers = Numbers::all(plan, scalar, "scalar");
  with_number<Op>(plan, in, numbers, results(plan, out, x));
}
template <class Op>
void with_number(Plan& plan, const aclTensorList* x, const aclTensor* scalar, const aclTensorList* out) {
  const Operands in = plan.inputs(x, "x");
  const Numbers numbers = Numbers::all(plan, scalar, "scalar");
  with_number<Op>(plan, in, numbers, results(plan, out, x));
}
template <class Op>
void with_number(Plan& plan, const aclTensorList* x, const aclScalarList* scalars, const aclTensorList* out) {
  const Operands in = plan.inputs(x, "x");
  const Numbers numbers = Numbers::each(plan, scalars, "scalars", in.size());
  with_number<Op>(plan, in, numbers, results(plan, out, x));
}

struct Three {
  Operands a, b, c;
  Three(Plan& plan, const aclTensorList* x1, const aclTensorList* x2, const aclTensorList* x3)
      : a(plan.inputs(x1, "x1")), b(plan.inputs(x2, "x2")), c(plan.inputs(x3, "x3")) {
    require_length(plan, b.size(), "x2", a.size());
    require_length(plan, c.size(), "x3", a.size());
  }
};

template <class Op>
void ternary(Plan& plan, const Three& x, const Numbers& numbers, const aclTensorList* out) {
  const Operands to = plan.outputs(out, "out");
  require_length(plan, to.size(), "out", x.a.size());
  std::vector<DType> compute;
  for (size_t i = 0; i < to.size(); ++i) {
    compute.push_back(mt::promote(mt::promote(x.a[i].dtype, x.b[i].dtype), x.c[i].dtype));
    require_domain(plan, Op::name, Op::domain, compute[i], x.a[i]);
    plan.require_broadcast(x.a[i], "x1", to[i]);
    plan.require_broadcast(x.b[i], "x2", to[i]);
    plan.require_broadcast(x.c[i], "x3", to[i]);
  }
  plan.run([=](const aclOpExecutor& e) {
    for (size_t i = 0; i < to.size(); ++i) {
      const Scalar number = numbers.at(i, e);
      k::ternary<Op>(x.a[i].view(e), x.b[i].view(e), x.c[i].view(e), to[i].view(e), compute[i], &number);
    }
  });
}

}  // namespace softnpu::ops::lists
