// Triangles and diagonals of matrices.
#include "kernels/shape/triangle.h"

#include "kernels/common/copy.h"
#include "op_plans.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

void triangle(Plan& plan, const Operand& in, const Operand& to, int64_t diagonal, bool lower) {
  plan.require_dtype(in, "self", domains::every);
  plan.require_same_dtype(in, "self", to, "out");
  plan.require_same_shape(in, "self", to, "out");
  if (in.ndim < 2) plan.invalid("tensor 'self' has shape ", shape_text(in), ", wanted at least 2 dimensions");
  plan.run([=](const aclOpExecutor& e) { k::triangle(in.view(e), to.view(e), diagonal, lower); });
}

void triangle(Plan& plan, const aclTensor* self, const aclTensor* out, int64_t diagonal, bool lower) {
  const Operand in = plan.input(self, "self");
  triangle(plan, in, plan.output(out, "out"), diagonal, lower);
}
void triangle_in_place(Plan& plan, const aclTensor* self, int64_t diagonal, bool lower) {
  const Operand to = plan.output(self, "selfRef");
  triangle(plan, to, to, diagonal, lower);
}

// A square matrix with `values` on a diagonal.
void fill_diagonal(Plan& plan, const Operand& values, const Operand& to, int64_t diagonal) {
  const int64_t size = values.sizes[0] + std::abs(diagonal);
  plan.require_shape(to, "out", {size, size});
  plan.run([=, place = diagonal_of(to, diagonal, 0, 1)](const aclOpExecutor& e) {
    k::fill(to.view(e), 0);
    k::copy(values.view(e), place.view(e));
  });
}

}  // namespace

void Tril(Plan& plan, const aclTensor* self, int64_t diagonal, aclTensor* out) {
  triangle(plan, self, out, diagonal, true);
}
void Triu(Plan& plan, const aclTensor* self, int64_t diagonal, aclTensor* out) {
  triangle(plan, self, out, diagonal, false);
}
void InplaceTril(Plan& plan, const aclTensor* selfRef, int64_t diagonal) {
  triangle_in_place(plan, selfRef, diagonal, true);
}
void InplaceTriu(Plan& plan, aclTensor* selfRef, int64_t diagonal) {
  triangle_in_place(plan, selfRef, diagonal, false);
}

void Diag(Plan& plan, const aclTensor* self, int64_t diagonal, aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_same_dtype(in, "self", to, "out");
  if (in.ndim == 1) return fill_diagonal(plan, in, to, diagonal);
  plan.require_ndim(in, "self", 2);
  const Operand from = diagonal_of(in, diagonal, 0, 1);
  plan.require_shape(to, "out", {from.sizes[0]});
  plan.run([=](const aclOpExecutor& e) { k::copy(from.view(e), to.view(e)); });
}

void DiagFlat(Plan& plan, const aclTensor* self, int64_t diagonal, aclTensor* out) {
  const Operand in = plan.input(self, "self"), to = plan.output(out, "out");
  plan.require_same_dtype(in, "self", to, "out");
  const int64_t size = in.numel() + std::abs(diagonal);
  plan.require_shape(to, "out", {size, size});
  // The diagonal in the shape of the input.
  Operand place = diagonal_of(to, diagonal, 0, 1);
  int64_t stride = place.strides[0];
  place.ndim = in.ndim;
  for (int i = in.ndim - 1; i >= 0; --i) {
    place.sizes[i] = in.sizes[i], place.strides[i] = stride;
    stride *= in.sizes[i];
  }
  plan.run([=](const aclOpExecutor& e) {
    k::fill(to.view(e), 0);
    k::copy(in.view(e), place.view(e));
  });
}

// x has every dimension of y twice: y[i, j] = x[i, j, i, j].
void DiagPart(Plan& plan, const aclTensor* x, aclTensor* y) {
  const Operand in = plan.input(x, "x"), to = plan.output(y, "y");
  plan.require_same_dtype(in, "x", to, "y");
  const int half = in.ndim / 2;
  bool fits = in.ndim > 0 && in.ndim % 2 == 0;
  Operand from = in;
  from.ndim = int16_t(half);
  for (int i = 0; fits && i < half; ++i) {
    fits = in.sizes[i] == in.sizes[half + i];
    from.strides[i] += in.strides[half + i];
  }
  if (!fits) plan.invalid("tensor 'x' has shape ", shape_text(in), ", wanted the same dimensions twice");
  plan.require_same_shape(from, "the diagonal", to, "y");
  plan.run([=](const aclOpExecutor& e) { k::copy(from.view(e), to.view(e)); });
}

}  // namespace softnpu::ops
