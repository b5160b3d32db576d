// Mathematics in terms of other operators.
#include <utility>

#include "generated/ops/ops.h"
#include "infer/checks.h"
#include "infer/infer.h"

namespace mt::composite {
namespace {

// A number as a 0-dim tensor beside `like`; a fill on the device, so nothing waits.
Tensor number_beside(const Scalar& value, const Tensor& like) {
  Tensor t = new_tensor({}, infer::result_type(like, value), like.device());
  ops::fill_(t, value);
  t.impl()->wrapped_number = true;
  return t;
}

}  // namespace

Tensor max_all(const Tensor& self) {
  infer::check_max_all(self);
  return ops::amax(self, DimList(), false);
}
Tensor min_all(const Tensor& self) {
  infer::check_min_all(self);
  return ops::amin(self, DimList(), false);
}
Tensor maximum(const Tensor& self, const Tensor& other) { return ops::maximum(self, other); }
Tensor minimum(const Tensor& self, const Tensor& other) { return ops::minimum(self, other); }

Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other) {
  return ops::where(condition, self, number_beside(other, self));
}
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other) {
  return ops::where(condition, number_beside(self, other), other);
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  MT_CHECK(self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got ", 1, ", ", self.dim(),
           ", ", vec.dim());
  MT_CHECK(self.sizes()[1] == vec.numel(), "size mismatch, got input (", self.sizes()[0], "), mat (",
           self.sizes()[0], "x", self.sizes()[1], "), vec (", vec.numel(), ")");
  return ops::squeeze(ops::mm(self, ops::unsqueeze(vec, 1)), 1);
}

Tensor dot(const Tensor& self, const Tensor& tensor) {
  MT_CHECK(self.dim() == 1 && tensor.dim() == 1, "1D tensors expected, but got ", self.dim(), "D and ",
           tensor.dim(), "D tensors");
  MT_CHECK(self.numel() == tensor.numel(), "inconsistent tensor size, expected tensor [", self.numel(),
           "] and src [", tensor.numel(), "] to have the same number of elements, but got ", self.numel(),
           " and ", tensor.numel(), " elements respectively");
  MT_CHECK(self.dtype() == tensor.dtype(), "dot : expected both vectors to have same dtype, but found ",
           info(self.dtype()).legacy, " and ", info(tensor.dtype()).legacy);
  if (self.dtype() == DType::boolean && tensor.dtype() == DType::boolean)
    return ops::any(ops::logical_and(self, tensor), DimList(), false);
  return ops::mm(ops::unsqueeze(self, 0), ops::unsqueeze(tensor, 1)).reshape({});
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  const int64_t a = self.dim(), b = other.dim();
  MT_CHECK(a > 0 && b > 0, "both arguments to matmul need to be at least 1D, but they are ", a, "D and ", b,
           "D");
  if (a == 2 && b == 2) return ops::mm(self, other);
  if (a == 1 && b == 1) return ops::dot(self, other);
  if (a == 2 && b == 1) return ops::mv(self, other);
  if (a == 1 && b == 2) return ops::squeeze(ops::mm(ops::unsqueeze(self, 0), other), 0);
  if (b <= 2 && a >= 3) {  // fold the batch into the rows
    Dims shape(self.sizes());
    const int64_t k = shape.back();
    shape.resize(shape.size() - 1);
    const Tensor rows = self.reshape(Dims{checked_numel(shape), k});
    const Tensor product = b == 1 ? ops::mv(rows, other) : ops::mm(rows, other);
    if (b == 2) shape.push_back(other.sizes()[1]);
    return product.reshape(shape);
  }
  const Tensor left = a == 1 ? ops::unsqueeze(self, 0) : self;
  const Tensor right = b == 1 ? ops::unsqueeze(other, 1) : other;
  const IntList ls = left.sizes(), rs = right.sizes();
  Dims batch = infer::broadcast(ls.subspan(0, ls.size() - 2), rs.subspan(0, rs.size() - 2));
  const int64_t n = ls[ls.size() - 2], k = ls[ls.size() - 1], k2 = rs[rs.size() - 2], m = rs[rs.size() - 1];
  auto folded = [&](const Tensor& t, int64_t rows, int64_t columns) {
    Dims shape(batch);
    shape.push_back(rows), shape.push_back(columns);
    return ops::expand(t, shape, false).reshape(Dims{checked_numel(batch), rows, columns});
  };
  const Tensor product = ops::bmm(folded(left, n, k), folded(right, k2, m));
  if (a > 1) batch.push_back(n);
  if (b > 1) batch.push_back(m);
  return product.reshape(batch);
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const Tensor turned = ops::t(weight);
  if (bias.defined() && input.dim() == 2) return ops::addmm(bias, input, turned);
  if (bias.defined() && input.dim() > 2 && weight.dim() == 2 && bias.dim() <= 1) {  // as one matrix of rows
    Dims shape(input.sizes());
    const int64_t k = std::exchange(shape.back(), weight.sizes()[0]);
    const int64_t rows = checked_numel(IntList(shape).first(shape.size() - 1));
    return ops::addmm(bias, input.reshape(Dims{rows, k}), turned).reshape(shape);
  }
  MT_CHECK(!bias.defined() || input.dtype() == weight.dtype(),
           "mat1 and mat2 must have the same dtype, but got ", info(input.dtype()).legacy, " and ",
           info(weight.dtype()).legacy);
  const Tensor product = ops::matmul(input, turned);
  return bias.defined() ? ops::add(product, bias) : product;
}

Tensor softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return ops::_softmax(dtype && *dtype != self.dtype() ? ops::_to_copy(self, dtype) : self, dim, false);
}
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return ops::_log_softmax(dtype && *dtype != self.dtype() ? ops::_to_copy(self, dtype) : self, dim, false);
}

Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore_index) {
  if (self.dim() <= 2)
    return std::get<0>(ops::nll_loss_forward(self, target, weight, reduction, ignore_index));
  // [N, C, d1, …]: every position is a row of its own.
  Dims order;
  order.push_back(0);
  for (int64_t i = 2; i < self.dim(); ++i) order.push_back(i);
  order.push_back(1);
  const Tensor rows = ops::permute(self, order).reshape(Dims{-1, self.sizes()[1]});
  const Tensor loss =
      std::get<0>(ops::nll_loss_forward(rows, target.reshape(Dims{-1}), weight, reduction, ignore_index));
  return reduction == 0 ? loss.reshape(target.sizes()) : loss;
}

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                          int64_t ignore_index, double label_smoothing) {
  MT_CHECK_AS(not_implemented, label_smoothing == 0.0 && !is_floating(target.dtype()),
              "cross_entropy_loss: class probabilities and label smoothing are composed in "
              "nn.functional.cross_entropy");
  return ops::nll_loss(ops::log_softmax(self, self.dim() == 1 ? 0 : 1), target, weight, reduction,
                       ignore_index);
}

}  // namespace mt::composite
