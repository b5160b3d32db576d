#include "autograd/formulas/index.h"

#include <algorithm>
#include <array>

#include "autograd/formulas/zeros.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/reduce.h"
#include "generated/ops/sparse.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"

namespace mt::formulas {
namespace {

Tensor zeros_of(const Tensor& grad, IntList sizes) { return ops::new_zeros(grad, sizes); }

Tensor as_type(const Tensor& t, DType dtype) { return t.dtype() == dtype ? t : ops::_to_copy(t, dtype); }

}  // namespace

Tensor index_backward(const Tensor& grad, IntList sizes, TensorList indices) {
  Tensor whole = zeros_of(grad, sizes);
  ops::_index_put_(whole, indices, grad, true);
  return whole;
}

Tensor index_put_backward(const Tensor& grad, TensorList indices, bool accumulate) {
  if (accumulate) return grad;
  return ops::index_put(grad, indices, zeros_of(grad, {}), false);
}

Tensor gather_backward(const Tensor& grad, IntList sizes, int64_t dim, const Tensor& index, bool sparse) {
  if (sparse) return ops::_gather_sparse_grad(grad, sizes, dim, index);
  return ops::scatter_add(nothing_of(grad, sizes), dim, index, grad);
}

Tensor index_select_backward(const Tensor& grad, IntList sizes, int64_t dim, const Tensor& index) {
  return ops::index_add(nothing_of(grad, sizes), dim, index, grad);
}

Tensor index_select_like(const Tensor& grad, int64_t dim, const Tensor& index, IntList sizes) {
  const Tensor picked = ops::index_select(grad, dim, index);
  return std::ranges::equal(picked.sizes(), sizes) ? picked : picked.reshape(sizes);
}

Tensor take_backward(const Tensor& grad, IntList sizes, const Tensor& index) {
  return ops::put(nothing_of(grad, sizes), index, grad, true);
}

Tensor put_backward(const Tensor& grad, const Tensor& index, const Tensor& source, bool accumulate) {
  if (accumulate) return grad;
  return ops::put(grad, index, zeros_of(grad, source.sizes()), false);
}

namespace {
bool any_above_one(const Tensor& counts) {
  return item(ops::any(ops::gt(counts, Scalar(1)), DimList(), false)).to<bool>();
}
}  // namespace

std::array<Tensor, 2> scatter_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                              const Tensor& index, const Tensor& src, std::string_view reduce,
                                              bool include_self, const Tensor& result) {
  // Only the part of src that the index covers took part.
  Tensor used = src;
  for (int64_t d = 0; d < src.dim() && index.dim() == src.dim(); ++d)
    if (index.sizes()[size_t(d)] != src.sizes()[size_t(d)])
      used = ops::slice(used, d, 0, index.sizes()[size_t(d)], 1);
  const DType dtype = grad.dtype();
  // Sums over everything that met in one place; the old value counts unless it was left out.
  auto total = [&](const Tensor& own, const Tensor& given) {
    Tensor start = include_self ? as_type(own, dtype) : zeros_like(grad);
    return ops::scatter_add(start, dim, index, as_type(given, dtype));
  };
  Tensor for_self, for_used;
  if (reduce == "sum") {
    for_self = grad;
    for_used = ops::gather(grad, dim, index);
  } else if (reduce == "mean") {
    const Tensor count = ops::clamp_min(total(ones_like(grad), ones_like(used)), Scalar(1));
    for_self = grad / count;
    for_used = ops::gather(grad / count, dim, index);
  } else if (reduce == "prod") {
    // The derivative is the product of the others: with one zero only its own place has one, with two nobody has.
    const Tensor self_zero = ops::eq(self, Scalar(0)), used_zero = ops::eq(used, Scalar(0));
    const Tensor zeros = total(self_zero, used_zero);
    const Tensor own = where(self_zero, Scalar(1), self), given = where(used_zero, Scalar(1), used);
    const Tensor product = ops::scatter_reduce(own, dim, index, given, "prod", include_self);
    auto slope = [&](const Tensor& value, const Tensor& zero, const Tensor& count, const Tensor& of) {
      return where(zero, where(ops::eq(count, Scalar(1)), of, Scalar(0)),
                   where(ops::eq(count, Scalar(0)), of / value, Scalar(0)));
    };
    for_self = grad * slope(own, self_zero, zeros, product);
    for_used = ops::gather(grad, dim, index) *
               slope(given, used_zero, ops::gather(zeros, dim, index), ops::gather(product, dim, index));
    if (autograd::grad_mode() && any_above_one(zeros))
      for_used = autograd::differentiable_once(for_used,
                                               "scatter_reduce(): Double backward is unsupported for src "
                                               "when >1 zeros in src are scattered to the "
                                               "same position in self");
  } else {  // amax, amin: those that reach the extremum share its gradient
    const Tensor self_hit = as_type(ops::eq(self, result), dtype);
    const Tensor used_hit = as_type(ops::eq(used, ops::gather(result, dim, index)), dtype);
    const Tensor share = grad / ops::clamp_min(total(self_hit, used_hit), Scalar(1));
    for_self = self_hit * share;
    for_used = used_hit * ops::gather(share, dim, index);
    if (!include_self) for_self = grad;
  }
  if (!include_self) for_self = ops::scatter(for_self, dim, index, Scalar(0));
  if (!std::ranges::equal(used.sizes(), src.sizes())) {
    Tensor whole = zeros_of(for_used, src.sizes());
    Tensor part = whole;
    for (int64_t d = 0; d < src.dim(); ++d) part = ops::slice(part, d, 0, used.sizes()[size_t(d)], 1);
    ops::copy_(part, for_used, false);
    for_used = whole;
  }
  return {for_self, for_used};
}

std::array<Tensor, 2> index_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim,
                                            const Tensor& index, const Tensor& source,
                                            std::string_view reduce, bool include_self,
                                            const Tensor& result) {
  // The same with an index in the source's shape.
  const Tensor given = source.dim() == self.dim() ? source : source.reshape(self.sizes());
  Tensor at = index;
  if (self.dim() == 0) {
    at = index.reshape({});
  } else {
    Dims shape(size_t(self.dim()), 1);
    shape[size_t(wrap_dim(dim, self.dim()))] = index.numel();
    at = ops::expand(index.reshape(shape), given.sizes(), false);
  }
  auto [for_self, for_given] =
      scatter_reduce_backward(grad, self, dim, at, given, reduce, include_self, result);
  return {for_self, source.dim() == self.dim() ? for_given : for_given.reshape(source.sizes())};
}

}  // namespace mt::formulas
