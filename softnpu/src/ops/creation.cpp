// Tensors made of numbers, and diagonals filled with one.
#include "kernels/creation/creation.h"

#include <cmath>

#include "kernels/common/copy.h"
#include "kernels/common/temporary.h"
#include "op_plans.h"
#include "ops/common/shorthand.h"

namespace softnpu::ops {

namespace {

// The elements [0, 0], [1, 1], ... of a matrix, `rows` of them.
Operand diagonal_of(const Operand& matrix, int64_t length) {
  Operand seen = matrix;
  seen.ndim = 1;
  seen.sizes[0] = length;
  seen.strides[0] = 0;
  for (int i = 0; i < matrix.ndim; ++i) seen.strides[0] += matrix.strides[i];
  return seen;
}

void require_vector(const Plan& plan, const Operand& out, int64_t steps) {
  if (steps < 0) plan.invalid("steps is ", steps, ", wanted at least 0");
  plan.require_shape(out, "out", {steps});
}

}  // namespace

void Arange(Plan& plan, const aclScalar* start, const aclScalar* end, const aclScalar* step, aclTensor* out) {
  const Scalar first = plan.scalar(start, "start"), last = plan.scalar(end, "end"),
               by = plan.scalar(step, "step");
  const Operand to = plan.output(out, "out");
  plan.require_ndim(to, "out", 1);
  plan.require_dtype(to, "out", domains::every_numeric);
  if (by.equals(0)) plan.invalid("step is 0");
  const bool whole = first.is_integral() && last.is_integral() && by.is_integral();
  int64_t count;
  if (whole) {
    const int64_t distance = last.to<int64_t>() - first.to<int64_t>(), width = by.to<int64_t>();
    count = distance / width + (distance % width != 0);
  } else {
    count = int64_t(std::ceil((last.to<double>() - first.to<double>()) / by.to<double>()));
  }
  if (count < 0 || to.sizes[0] != count)
    plan.invalid("from ", first.to<double>(), " to ", last.to<double>(), " in steps of ", by.to<double>(),
                 " are ", count, " values, but 'out' has ", to.sizes[0]);
  plan.run([to, first, by](const aclOpExecutor& e) { k::arange(to.view(e), first, by); });
}

void Range(Plan& plan, const aclScalar* start, const aclScalar* end, const aclScalar* step, aclTensor* out) {
  const Scalar first = plan.scalar(start, "start"), last = plan.scalar(end, "end"),
               by = plan.scalar(step, "step");
  const Operand to = plan.output(out, "out");
  plan.require_ndim(to, "out", 1);
  plan.require_dtype(to, "out", domains::real);
  if (by.equals(0)) plan.invalid("step is 0");
  const double count = std::floor((last.to<double>() - first.to<double>()) / by.to<double>()) + 1;
  if (!(count >= 0) || double(to.sizes[0]) != count)
    plan.invalid("from ", first.to<double>(), " to ", last.to<double>(), " in steps of ", by.to<double>(),
                 " are ", count, " values, but 'out' has ", to.sizes[0]);
  plan.run([to, first, by](const aclOpExecutor& e) { k::arange(to.view(e), first, by); });
}

void Linspace(Plan& plan, const aclScalar* start, const aclScalar* end, int64_t steps, aclTensor* out) {
  const Scalar first = plan.scalar(start, "start"), last = plan.scalar(end, "end");
  const Operand to = plan.output(out, "out");
  require_vector(plan, to, steps);
  plan.require_dtype(to, "out", domains::numeric);
  plan.run([=](const aclOpExecutor& e) { k::linspace(to.view(e), first, last); });
}

void LogSpace(Plan& plan, const aclScalar* start, const aclScalar* end, int64_t steps, double base,
              const aclTensor* result) {
  const Scalar first = plan.scalar(start, "start"), last = plan.scalar(end, "end");
  const Operand to = plan.output(result, "result");
  require_vector(plan, to, steps);
  plan.require_dtype(to, "result", domains::real);
  plan.run([=](const aclOpExecutor& e) {
    const k::Temporary exponents(to.sizes, to.ndim, DType::float64);
    k::linspace(exponents.view(), first, last);
    double power = base;
    k::binary<k::pow_op>(View{&power, nullptr, nullptr, 0, DType::float64}, exponents.view(), to.view(e),
                         DType::float64);
  });
}

void Eye(Plan& plan, int64_t n, int64_t m, aclTensor* out) {
  const Operand to = plan.output(out, "out");
  plan.require_shape(to, "out", {n, m});
  const Operand ones = diagonal_of(to, std::min(n, m));
  plan.run([to, ones](const aclOpExecutor& e) {
    k::fill(to.view(e), Scalar(int64_t(0)));
    k::fill(ones.view(e), Scalar(int64_t(1)));
  });
}

// A tall matrix may have its diagonal begin again below, after an empty row.
void InplaceFillDiagonal(Plan& plan, aclTensor* selfRef, const aclScalar* fillValue, bool wrap) {
  const Operand to = plan.output(selfRef, "selfRef");
  const Scalar value = plan.scalar(fillValue, "fillValue");
  if (to.ndim < 2)
    plan.invalid("tensor 'selfRef' has shape ", shape_text(to), ", wanted at least 2 dimensions");
  int64_t length = to.sizes[0];
  for (int i = 1; i < to.ndim; ++i) {
    if (to.ndim > 2 && to.sizes[i] != to.sizes[0])
      plan.invalid("tensor 'selfRef' has shape ", shape_text(to), ", wanted equal sizes");
    length = std::min(length, to.sizes[i]);
  }
  std::vector<Operand> diagonals;
  const int64_t columns = to.sizes[1];
  const bool again = wrap && to.ndim == 2 && length > 0;
  for (int64_t row = 0; row < (again ? to.sizes[0] : 1); row += columns + 1) {
    diagonals.push_back(diagonal_of(to, again ? std::min(columns, to.sizes[0] - row) : length));
    diagonals.back().offset += row * to.strides[0] * int64_t(mt::itemsize(to.dtype));
  }
  plan.run([diagonals, value](const aclOpExecutor& e) {
    for (const Operand& diagonal : diagonals) k::fill(diagonal.view(e), value);
  });
}

}  // namespace softnpu::ops
