// Complex numbers made of parts, and the parts of complex numbers.
#include "kernels/common/copy.h"
#include "op_plans.h"
#include "ops/common/shorthand.h"

namespace softnpu::ops {

namespace {

// The real (0) or imaginary (1) parts of a complex tensor, as real numbers.
Operand part_of(const Operand& complex, int part) {
  Operand seen = complex;
  seen.dtype = complex.dtype == DType::complex64 ? DType::float32 : DType::float64;
  for (int i = 0; i < complex.ndim; ++i)
    if (complex.sizes[i] > 1) seen.strides[i] *= 2;  // others may be anything, and are not gone along
  seen.offset += part * int64_t(mt::itemsize(seen.dtype));
  return seen;
}

void real_parts(Plan& plan, const aclTensor* self, const aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_same_shape(in, "self", to, "out");
  const Operand real = mt::is_complex(in.dtype) ? part_of(in, 0) : in;
  plan.require_same_dtype(to, "out", real, "the real part of self");
  plan.run([real, to](const aclOpExecutor& e) { k::copy(real.view(e), to.view(e)); });
}

}  // namespace

void Complex(Plan& plan, const aclTensor* real, const aclTensor* imag, aclTensor* out) {
  const Operand a = plan.input(real, "real"), b = plan.input(imag, "imag"), to = plan.output(out, "out");
  plan.require_dtype(to, "out", domains::complex);
  plan.require_dtype(a, "real", domains::floating);
  plan.require_same_dtype(b, "imag", a, "real");
  plan.require_broadcast(a, "real", to);
  plan.require_broadcast(b, "imag", to);
  const Operand first = part_of(to, 0), second = part_of(to, 1);
  plan.run([=](const aclOpExecutor& e) {
    k::copy(a.view(e), first.view(e));
    k::copy(b.view(e), second.view(e));
  });
}

void Polar(Plan& plan, const aclTensor* input, const aclTensor* angle, aclTensor* out) {
  const Operand size = plan.input(input, "input"), turn = plan.input(angle, "angle"),
                to = plan.output(out, "out");
  plan.require_dtype(to, "out", domains::complex);
  plan.require_dtype(size, "input", domains::floating);
  plan.require_same_dtype(turn, "angle", size, "input");
  plan.require_broadcast(size, "input", to);
  plan.require_broadcast(turn, "angle", to);
  const Operand first = part_of(to, 0), second = part_of(to, 1);
  plan.run([=](const aclOpExecutor& e) {
    const View real = first.view(e), imaginary = second.view(e), radius = size.view(e), phase = turn.view(e);
    k::unary<k::cos_op>(phase, real);
    k::binary<k::mul_op>(radius, real, real, real.dtype);
    k::unary<k::sin_op>(phase, imaginary);
    k::binary<k::mul_op>(radius, imaginary, imaginary, imaginary.dtype);
  });
}

void Real(Plan& plan, const aclTensor* self, aclTensor* out) { real_parts(plan, self, out); }
void RealV2(Plan& plan, const aclTensor* self, aclTensor* out) { real_parts(plan, self, out); }

}  // namespace softnpu::ops
