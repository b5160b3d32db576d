// Operators whose CPU kernel is more than a functor of its family.
#include "generated/cpu/kernels.h"
#include "backends/cpu/view.h"
#include "core/views.h"
#include "kernels/creation/creation.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/loss/nll.h"
#include "kernels/matmul/matmul.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/softmax.h"

namespace mt::cpu {
namespace {

// Products of booleans have no meaning that people agree on; PyTorch refuses them unless there is nothing to compute.
void check_product(const Tensor& out) {
  MT_CHECK_AS(not_implemented, out.dtype() != DType::boolean || out.numel() == 0,
              "\"addmm_impl_cpu_\" not implemented for 'Bool'");
}

int wrapped(const Tensor& t, int64_t dim) { return int(wrap_dim(dim, t.dim())); }

// `out` with the reduced dimension put back, whatever keepdim was.
Tensor with_dim(const Tensor& out, const Tensor& self, int dim) {
  return out.dim() == self.dim() ? out : views::unsqueeze(out, dim);
}

void arg_extremum(bool max, const Tensor& self, std::optional<int64_t> dim, const Tensor& out) {
  if (!dim) return kernels::arg_reduce(max, view(self), view(views::view(out, IntList())), -1);
  const Tensor in = at_least_1d(self);
  const int d = wrapped(in, *dim);
  kernels::arg_reduce(max, view(in), view(with_dim(at_least_1d(out), in, d)), d);
}

void extremum(bool max, const Tensor& self, int64_t dim, const Tensor& values, const Tensor& indices) {
  const Tensor in = at_least_1d(self);
  const int d = wrapped(in, dim);
  const Tensor v = self.dim() == 0 ? at_least_1d(values) : with_dim(values, in, d);
  const Tensor i = self.dim() == 0 ? at_least_1d(indices) : with_dim(indices, in, d);
  kernels::max_min_dim(max, view(in), d, view(v), view(i));
}

Tensor copied(const Tensor& t, DType dtype) {
  Tensor copy = new_tensor(t.sizes(), dtype, t.device());
  kernels::copy(view(t), view(copy));
  return copy;
}

}  // namespace

Tensor at_least_1d(const Tensor& t) { return t.dim() == 0 ? views::unsqueeze(t, 0) : t; }

Tensor dense(const Tensor& t) { return t.defined() ? dense(t, t.dtype()) : t; }
Tensor dense(const Tensor& t, DType dtype) {
  return t.is_contiguous() && t.dtype() == dtype ? t : copied(t, dtype);
}
Tensor as_long(const Tensor& t) { return t.dtype() == DType::int64 ? t : copied(t, DType::int64); }

void argmax(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& out) {
  arg_extremum(true, self, dim, out);
}
void argmin(const Tensor& self, std::optional<int64_t> dim, bool, const Tensor& out) {
  arg_extremum(false, self, dim, out);
}
void max_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  extremum(true, self, dim, values, indices);
}
void min_dim(const Tensor& self, int64_t dim, bool, const Tensor& values, const Tensor& indices) {
  extremum(false, self, dim, values, indices);
}

void cat(TensorList tensors, int64_t dim, const Tensor& out) {
  const int64_t d = wrap_dim(dim, out.dim());
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    if (t.dim() == 1 && t.numel() == 0 && out.dim() != 1) continue;
    const int64_t length = t.sizes()[size_t(d)];
    kernels::copy(view(t), view(views::slice(out, d, at, at + length, 1)));
    at += length;
  }
}

void mm(const Tensor& self, const Tensor& mat2, const Tensor& out) {
  check_product(out);
  kernels::gemm(view(self), view(mat2), view(out), 1, 0);
}
void bmm(const Tensor& self, const Tensor& mat2, const Tensor& out) {
  check_product(out);
  kernels::bmm(view(self), view(mat2), view(out), 1, 0);
}

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
           const Scalar& alpha, const Tensor& out) {
  check_product(out);
  if (!beta.equals(0) && !out.same(self)) kernels::copy(view(self), view(out));
  kernels::gemm(view(mat1), view(mat2), view(out), alpha, beta);
}

void softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  const Tensor in = at_least_1d(self);
  kernels::softmax(view(in), view(at_least_1d(out)), wrapped(in, dim), false);
}
void log_softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  const Tensor in = at_least_1d(self);
  kernels::softmax(view(in), view(at_least_1d(out)), wrapped(in, dim), true);
}
void softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType, const Tensor& out) {
  const Tensor y = at_least_1d(output);
  kernels::softmax_backward(view(at_least_1d(grad)), view(y), view(at_least_1d(out)), wrapped(y, dim), false);
}
void log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType, const Tensor& out) {
  const Tensor y = at_least_1d(output);
  kernels::softmax_backward(view(at_least_1d(grad)), view(y), view(at_least_1d(out)), wrapped(y, dim), true);
}

void nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
              int64_t ignore_index, const Tensor& output, const Tensor& total_weight) {
  const kernels::View w = weight.defined() ? view(weight) : kernels::View{};
  kernels::nll_loss(view(self), view(target), weight.defined() ? &w : nullptr, view(output),
                    view(total_weight), kernels::Reduction(reduction), ignore_index);
}
void nll_loss_backward(const Tensor& grad, const Tensor&, const Tensor& target, const Tensor& weight,
                       int64_t reduction, int64_t ignore_index, const Tensor& total_weight,
                       const Tensor& out) {
  const kernels::View w = weight.defined() ? view(weight) : kernels::View{};
  kernels::nll_loss_backward(view(grad), view(target), weight.defined() ? &w : nullptr, view(total_weight),
                             view(out), kernels::Reduction(reduction), ignore_index);
}

void where(const Tensor& condition, const Tensor& self, const Tensor& other, const Tensor& out) {
  kernels::where(view(condition), view(self), view(other), view(out));
}

void fill(const Tensor& self, const Scalar& value) { kernels::fill(view(self), value); }
void zero(const Tensor& self) { kernels::fill(view(self), 0); }
void arange(const Scalar& start, const Scalar&, const Scalar& step, const Tensor& out) {
  kernels::arange(view(out), start, step);
}
void linspace(const Scalar& start, const Scalar& end, const Tensor& out) {
  kernels::linspace(view(out), start, end);
}
void triangle_indices(int64_t row, int64_t col, int64_t offset, bool upper, const Tensor& out) {
  kernels::triangle_indices(view(out), row, col, offset, upper);
}

}  // namespace mt::cpu
