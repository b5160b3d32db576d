// Gated linear units: a tensor is cut in two along a dimension, and one half opens or closes the other.
#include <cstring>

#include "kernels/common/copy.h"
#include "op_plans.h"
#include "ops/common/elements.h"
#include "ops/common/shorthand.h"

namespace softnpu::ops {

namespace {

struct Halves {
  Operand first, second;
  int dim;
};

Halves halves_of(const Plan& plan, const Operand& in, const char* name, int64_t dim) {
  const int along = plan.dim(dim, in);
  if (in.ndim == 0 || in.sizes[along] % 2 != 0)
    plan.invalid("tensor '", name, "' has shape ", shape_text(in), ", wanted an even size along dim ", dim);
  Halves halves{in, in, along};
  halves.first.sizes[along] = halves.second.sizes[along] = in.sizes[along] / 2;
  halves.second.offset += in.sizes[along] / 2 * in.strides[along] * int64_t(mt::itemsize(in.dtype));
  return halves;
}

// out = Op(first half, second half), or of the two the other way round.
template <class Op>
void gated(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* out, bool swapped = false) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::floating);
  plan.require_dtype(to, "out", domains::floating);
  Halves halves = halves_of(plan, in, "self", dim);
  plan.require_same_shape(to, "out", halves.first, "half of self");
  if (swapped) std::swap(halves.first, halves.second);
  plan.run([halves, to](const aclOpExecutor& e) {
    k::binary<Op>(halves.first.view(e), halves.second.view(e), to.view(e), halves.first.dtype);
  });
}

struct GatedGradient {
  Operand grad;
  Halves in, out;
  std::optional<Operand> activated;  // what the forward kept of the gate
};

// `kept` says whether the operator takes what the forward kept.
GatedGradient gradient_of(Plan& plan, const aclTensor* grad, const aclTensor* self, int64_t dim,
                          const aclTensor* out, bool kept = false, const aclTensor* activated = nullptr) {
  const Operand given = plan.input(grad, "gradOutput"), in = plan.input(self, "self");
  std::optional<Operand> gate;
  if (kept) gate = plan.input(activated, "gelu");
  const Operand to = plan.output(out, "out");
  plan.require_dtype(in, "self", domains::floating);
  plan.require_dtype(given, "gradOutput", domains::floating);
  plan.require_dtype(to, "out", domains::floating);
  plan.require_same_shape(in, "self", to, "out");
  const GatedGradient result{given, halves_of(plan, in, "self", dim), halves_of(plan, to, "out", dim), gate};
  plan.require_same_shape(given, "gradOutput", result.in.first, "half of self");
  if (gate) plan.require_same_shape(*gate, "gelu", result.in.first, "half of self");
  return result;
}

template <class First, class Second>
void gated_backward(Plan& plan, const aclTensor* grad, const aclTensor* self, int64_t dim,
                    const aclTensor* out) {
  const GatedGradient g = gradient_of(plan, grad, self, dim, out);
  plan.run([g](const aclOpExecutor& e) {
    const View given = g.grad.view(e), a = g.in.first.view(e), b = g.in.second.view(e);
    k::ternary<First>(given, a, b, g.out.first.view(e), a.dtype);
    k::ternary<Second>(given, a, b, g.out.second.view(e), a.dtype);
  });
}

bool is_tanh(const Plan& plan, int64_t approximate) {
  if (approximate != 0 && approximate != 1)
    plan.invalid("approximate is ", approximate, ", wanted 0 (none) or 1 (tanh)");
  return approximate == 1;
}

// out = value * gelu(gate); the gate is the first half if `activateLeft`, else the second.
void geglu(Plan& plan, const aclTensor* self, int64_t dim, int64_t approximate, bool activate_left,
           const aclTensor* out, const aclTensor* out_gelu) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out"),
                activated = plan.output(out_gelu, "outGelu");
  plan.require_dtype(in, "self", domains::floating);
  plan.require_same_dtype(to, "out", in, "self");
  plan.require_same_dtype(activated, "outGelu", in, "self");
  Halves halves = halves_of(plan, in, "self", dim);
  plan.require_same_shape(to, "out", halves.first, "half of self");
  plan.require_same_shape(activated, "outGelu", halves.first, "half of self");
  if (activate_left) std::swap(halves.first, halves.second);
  const bool tanh = is_tanh(plan, approximate);
  plan.run([=](const aclOpExecutor& e) {
    const View value = halves.first.view(e), gate = halves.second.view(e);
    if (tanh) {
      k::binary<k::geglu_tanh_op>(value, gate, to.view(e), value.dtype);
      k::unary<k::gelu_tanh_op>(gate, activated.view(e));
    } else {
      k::binary<k::geglu_op>(value, gate, to.view(e), value.dtype);
      k::unary<k::gelu_op>(gate, activated.view(e));
    }
  });
}

void geglu_backward(Plan& plan, const aclTensor* grad, const aclTensor* self, const aclTensor* gelu,
                    int64_t dim, int64_t approximate, bool activate_left, const aclTensor* out) {
  GatedGradient g = gradient_of(plan, grad, self, dim, out, true, gelu);
  if (activate_left) std::swap(g.in.first, g.in.second), std::swap(g.out.first, g.out.second);
  const bool tanh = is_tanh(plan, approximate);
  plan.run([=](const aclOpExecutor& e) {
    const View given = g.grad.view(e), value = g.in.first.view(e), gate = g.in.second.view(e);
    k::binary<k::mul_op>(given, g.activated->view(e), g.out.first.view(e), value.dtype);
    const auto slope =
        tanh ? k::ternary<k::geglu_tanh_gate_backward_op> : k::ternary<k::geglu_gate_backward_op>;
    slope(given, value, gate, g.out.second.view(e), value.dtype, nullptr);
  });
}

}  // namespace

void Glu(Plan& plan, const aclTensor* self, int64_t dim, const aclTensor* out) {
  gated<k::glu_op>(plan, self, dim, out);
}
void GluBackward(Plan& plan, const aclTensor* gradOut, const aclTensor* self, int64_t dim,
                 const aclTensor* out) {
  gated_backward<k::glu_value_backward_op, k::glu_gate_backward_op>(plan, gradOut, self, dim, out);
}
void SwiGlu(Plan& plan, const aclTensor* x, int64_t dim, const aclTensor* out) {
  gated<k::swiglu_op>(plan, x, dim, out);
}
void SwiGluGrad(Plan& plan, const aclTensor* yGrad, const aclTensor* x, int64_t dim, const aclTensor* out) {
  gated_backward<k::swiglu_gate_backward_op, k::swiglu_value_backward_op>(plan, yGrad, x, dim, out);
}

void GeGlu(Plan& plan, const aclTensor* self, int64_t dim, int64_t approximate, aclTensor* out,
           aclTensor* outGelu) {
  geglu(plan, self, dim, approximate, false, out, outGelu);
}
void GeGluV3(Plan& plan, const aclTensor* self, int64_t dim, int64_t approximate, bool activateLeft,
             aclTensor* out, aclTensor* outGelu) {
  geglu(plan, self, dim, approximate, activateLeft, out, outGelu);
}
void GeGluBackward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self, const aclTensor* gelu,
                   int64_t dim, int64_t approximate, aclTensor* gradInput) {
  geglu_backward(plan, gradOutput, self, gelu, dim, approximate, false, gradInput);
}
void GeGluV3Backward(Plan& plan, const aclTensor* gradOutput, const aclTensor* self, const aclTensor* gelu,
                     int64_t dim, int64_t approximate, bool activateLeft, aclTensor* gradInput) {
  geglu_backward(plan, gradOutput, self, gelu, dim, approximate, activateLeft, gradInput);
}
// gelu(first half) * second half, along the last dimension.
void GeluMul(Plan& plan, const aclTensor* input, char* approximateOptional, const aclTensor* out) {
  const char* how = approximateOptional == nullptr ? "none" : approximateOptional;
  const bool tanh = std::strcmp(how, "tanh") == 0;
  if (!tanh && std::strcmp(how, "none") != 0)
    plan.invalid("approximate is '", how, "', wanted 'none' or 'tanh'");
  if (tanh) gated<k::geglu_tanh_op>(plan, input, -1, out, true);
  else gated<k::geglu_op>(plan, input, -1, out, true);
}

// With a group index only the first rows, as many as its elements add up to, are computed.
void ClippedSwiglu(Plan& plan, const aclTensor* x, const aclTensor* groupIndexOptional, int64_t dim,
                   double alpha, double limit, double bias, bool interleaved, const aclTensor* out) {
  const Operand in = plan.input(x, "x");
  const std::optional<Operand> groups = plan.optional_input(groupIndexOptional, "groupIndexOptional");
  const Operand to = plan.output(out, "out");
  plan.require_dtype(in, "x", domains::floating);
  Halves halves = halves_of(plan, in, "x", dim);
  plan.require_same_shape(to, "out", halves.first, "half of x");
  if (interleaved) {  // even and odd entries in place of first and last
    if (halves.dim != in.ndim - 1)
      plan.invalid("interleaved halves along dim ", dim, " of shape ", shape_text(in),
                   ", wanted the last dim");
    halves.second = halves.first;
    halves.second.offset += in.strides[halves.dim] * int64_t(mt::itemsize(in.dtype));
    halves.first.strides[halves.dim] *= 2;
    halves.second.strides[halves.dim] *= 2;
  }
  if (groups) {
    plan.require_dtype(*groups, "groupIndexOptional", domains::integral);
    if (halves.dim == 0 || groups->ndim != 1)
      plan.invalid("groups of shape ", shape_text(*groups), " along dim ", dim, " of shape ", shape_text(in),
                   ", wanted a vector, and halves of the rows");
  }
  const std::array<Scalar, 3> params{Scalar(alpha), Scalar(limit), Scalar(bias)};
  plan.run([=](const aclOpExecutor& e) {
    Operand gate = halves.first, value = halves.second, result = to;
    if (groups) {
      int64_t rows = 0;
      for (int64_t i = 0; i < groups->sizes[0]; ++i) rows += element(groups->view(e), i).to<int64_t>();
      if (rows < 0 || rows > to.sizes[0])
        mt::fail(mt::ErrorKind::value, "the groups have ", rows, " rows, but 'x' has ", to.sizes[0]);
      gate.sizes[0] = value.sizes[0] = result.sizes[0] = rows;
    }
    k::binary<k::clipped_swiglu_op>(gate.view(e), value.view(e), result.view(e), in.dtype, params.data());
  });
}

void FatreluMul(Plan& plan, const aclTensor* input, const aclTensor* threshold, const aclTensor* out) {
  const Operand in = plan.input(input, "input"), limit = plan.input(threshold, "threshold"),
                to = plan.output(out, "out");
  plan.require_dtype(in, "input", domains::floating);
  if (limit.numel() != 1)
    plan.invalid("tensor 'threshold' has shape ", shape_text(limit), ", wanted one element");
  const Halves halves = halves_of(plan, in, "input", -1);
  plan.require_same_shape(to, "out", halves.first, "half of input");
  plan.run([=](const aclOpExecutor& e) {
    const Scalar least = element(limit.view(e), 0);
    k::binary<k::fatrelu_mul_op>(halves.first.view(e), halves.second.view(e), to.view(e), in.dtype, &least);
  });
}

}  // namespace softnpu::ops
