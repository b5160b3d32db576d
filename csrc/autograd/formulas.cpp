#include "autograd/formulas.h"

#include "infer/infer.h"

namespace mt::formulas {
namespace {
// Whether two elements of a window may be one in memory: some stride does not reach past what smaller ones span.
bool overlaps(IntList sizes, IntList strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return false;
    if (sizes[i] > 1) dims.push_back({strides[i], sizes[i]});
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}
}  // namespace

Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
Tensor operator+(const Tensor& a, const Scalar& b) { return ops::add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }
Tensor operator-(const Scalar& a, const Tensor& b) { return ops::add(ops::neg(b), a); }
Tensor operator-(const Tensor& a) { return ops::neg(a); }
Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
Tensor operator*(const Tensor& a, const Scalar& b) { return b.equals(1) ? a : ops::mul(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
Tensor operator/(const Tensor& a, const Scalar& b) { return b.equals(1) ? a : ops::div(a, b); }
Tensor operator<(const Tensor& a, const Tensor& b) { return ops::lt(a, b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return ops::gt(a, b); }
Tensor operator<=(const Tensor& a, const Scalar& b) { return ops::le(a, b); }
Tensor operator>=(const Tensor& a, const Scalar& b) { return ops::ge(a, b); }

Tensor to_like(const Tensor& grad, const autograd::OutputMeta& like) {
  if (grad.dtype() == like.dtype && grad.device() == like.device) return grad;
  return ops::_to_copy(grad, like.dtype, like.device, false, std::nullopt);
}

Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Scalar& exponent) {
  if (exponent.equals(0)) return zeros_like(grad);
  const Scalar less = exponent.is_integral()  ? Scalar(exponent.to<int64_t>() - 1)
                      : exponent.is_complex() ? Scalar(exponent.to<complex128>() - 1.0)
                                              : Scalar(exponent.to<double>() - 1);
  return grad * conjugate(ops::pow(self, less) * exponent);
}

Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent) {
  const Tensor slope = exponent * ops::pow(self, ops::sub(exponent, Scalar(1)));
  return where(ops::eq(exponent, Scalar(0)), Scalar(0), grad * conjugate(slope));
}

Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent,
                             const Tensor& result) {
  // 0 ** positive has slope 0, where the formula would say 0 * -inf.
  const Tensor flat = ops::logical_and(ops::eq(self, Scalar(0)), ops::ge(ops::real(exponent), Scalar(0)));
  const Tensor base =
      is_complex(result.dtype()) && !is_complex(self.dtype()) ? ops::_to_copy(self, result.dtype()) : self;
  return where(flat, Scalar(0), grad * conjugate(result * ops::log(base)));
}

Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& other, const Tensor& lost) {
  const Tensor shared = where(ops::eq(self, other), grad / Scalar(2), grad);
  return where(lost, Scalar(0), shared);
}

Tensor unreduce(const Tensor& grad, IntList sizes, const DimList& dim, bool keepdim) {
  Tensor kept = grad;
  if (!keepdim && !sizes.empty() && !(dim.all() && grad.dim() == 0))
    kept = grad.reshape(infer::reduced_shape(sizes, dim, true));
  return ops::expand(kept, sizes, false);
}

Scalar reduced_count(IntList sizes, const DimList& dim) {
  const uint64_t mask = infer::dim_mask(dim, int64_t(sizes.size()));
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (mask >> i & 1) count *= sizes[i];
  return Scalar(count);
}

Tensor reduce_extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                const DimList& dim, bool keepdim) {
  const Tensor hit = ops::eq(self, unreduce(result, self.sizes(), dim, keepdim));
  const Tensor share = ops::sum(hit, dim, true, grad.dtype());
  return where(hit, unreduce(grad, self.sizes(), dim, keepdim) / share, Scalar(0));
}

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const DimList& dim,
                     bool keepdim) {
  // The derivative is the product of the others: result / self, except in slices that hold a zero. With one zero
  // only its own place has a derivative, the product of the rest; with two there is none.
  const Tensor zero = ops::eq(self, Scalar(0));
  const Tensor zeros = ops::sum(zero, dim, true, std::nullopt);
  const Tensor without = where(zero, Scalar(1), self);
  const Tensor others = ops::expand(ops::prod(without, dim, true, std::nullopt), self.sizes(), false);
  const Tensor plain = unreduce(result, self.sizes(), dim, keepdim) / without;
  const Tensor at_zero = where(ops::eq(zeros, Scalar(1)), others, Scalar(0));
  return unreduce(grad, self.sizes(), dim, keepdim) *
         conjugate(where(zero, at_zero, where(ops::eq(zeros, Scalar(0)), plain, Scalar(0))));
}

Tensor value_selecting_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntList sizes,
                                bool keepdim) {
  if (sizes.empty()) return grad;
  const Tensor kept = keepdim ? grad : ops::unsqueeze(grad, dim);
  const Tensor at = keepdim ? indices : ops::unsqueeze(indices, dim);
  const int64_t d = wrap_dim(dim, int64_t(sizes.size()));
  Dims shape(sizes.size(), 1);
  shape[size_t(d)] = sizes[size_t(d)];
  const Tensor positions =
      ops::arange(Scalar(sizes[size_t(d)]), {DType::int64, grad.device()}).reshape(shape);
  return where(ops::eq(positions, at), kept, Scalar(0));
}

Dims inverse_permutation(IntList dims) {
  Dims out(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) out[size_t(wrap_dim(dims[i], int64_t(dims.size())))] = int64_t(i);
  return out;
}

Tensor select_backward(const Tensor& grad, IntList sizes, int64_t dim, int64_t index) {
  Tensor whole = ops::zeros(sizes, {grad.dtype(), grad.device()});
  ops::copy_(ops::select(whole, dim, index), grad, false);
  return whole;
}

Tensor slice_backward(const Tensor& grad, IntList sizes, int64_t dim, std::optional<int64_t> start,
                      std::optional<int64_t> end, int64_t step) {
  Tensor whole = ops::zeros(sizes, {grad.dtype(), grad.device()});
  ops::copy_(ops::slice(whole, dim, start, end, step), grad, false);
  return whole;
}

Tensor diagonal_backward(const Tensor& grad, IntList sizes, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor whole = ops::zeros(sizes, {grad.dtype(), grad.device()});
  ops::copy_(ops::diagonal(whole, offset, dim1, dim2), grad, false);
  return whole;
}

Tensor as_strided_backward(const Tensor& grad, const autograd::Geometry& self, IntList size, IntList stride,
                           std::optional<int64_t> storage_offset) {
  // Elements that were read several times get the sum of their gradients; if several elements of self are one in
  // memory, they share it.
  const int64_t offset = storage_offset.value_or(self.offset);
  Tensor memory;
  if (overlaps(size, stride)) {
    memory = ops::_as_strided_sum(grad, self.room, size, stride, offset);
  } else {
    memory = ops::zeros(IntList{&self.room, 1}, {grad.dtype(), grad.device()});
    ops::copy_(ops::as_strided(memory, size, stride, offset), grad, false);
  }
  if (overlaps(self.sizes, self.strides)) {
    const Tensor ones = ops::ones(self.sizes, {grad.dtype(), grad.device()});
    const Tensor count = ops::_as_strided_sum(ones, self.room, self.sizes, self.strides, self.offset);
    memory = memory / ops::clamp_min(count, Scalar(1));
  }
  return ops::as_strided(memory, self.sizes, self.strides, self.offset);
}

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<Dims>& sizes, int64_t dim) {
  std::vector<Tensor> out;
  int64_t at = 0;
  for (const Dims& s : sizes) {
    if (s.size() == 1 && s[0] == 0) {  // skipped by cat
      out.push_back(ops::zeros(s, {grad.dtype(), grad.device()}));
      continue;
    }
    const int64_t length = s[size_t(wrap_dim(dim, int64_t(s.size())))];
    out.push_back(ops::slice(grad, dim, at, at + length, 1));
    at += length;
  }
  return out;
}

Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                               int64_t dim) {
  return grad_output * grad - sum(output * grad_output, dim, true) * grad -
         grad_output * sum(output * grad, dim, true);
}

}  // namespace mt::formulas
