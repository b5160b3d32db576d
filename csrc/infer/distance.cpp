#include "generated/infer/distance.h"

#include "infer/checks.h"

namespace mt::infer {
namespace {

void check_pair(const Tensor& x1, const Tensor& x2, double p) {
  MT_CHECK(is_floating(x1.dtype()),
           "cdist only supports floating-point dtypes, X1 got: ", info(x1.dtype()).legacy);
  MT_CHECK(is_floating(x2.dtype()),
           "cdist only supports floating-point dtypes, X2 got: ", info(x2.dtype()).legacy);
  MT_CHECK(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
  MT_CHECK(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
  MT_CHECK(x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: ", x1.size(-1),
           " X2: ", x2.size(-1));
  MT_CHECK(p >= 0, "cdist only supports non-negative p values");
  check_same_device({&x1, &x2});
  MT_CHECK(x1.dtype() == x2.dtype(), "expected scalar type ", info(x1.dtype()).legacy, " but found ",
           info(x2.dtype()).legacy);
  check_float_or_double(x1, "cdist");
  const IntList a = x1.sizes(), b = x2.sizes();
  MT_CHECK(std::ranges::equal(a.first(a.size() - 2), b.first(b.size() - 2)),
           "cdist: batches of different sizes, ", to_string(a), " and ", to_string(b));
}

Dims distance_shape(const Tensor& x1, const Tensor& x2) {
  Dims sizes(x1.sizes());
  sizes[sizes.size() - 1] = x2.size(-2);
  return sizes;
}

}  // namespace

void cdist(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> mode, Output& out) {
  MT_CHECK(mode.value_or(0) >= 0 && mode.value_or(0) <= 2, "possible modes: 0, 1, 2, but was: ", *mode);
  check_pair(x1, x2, p);
  out.prepare(distance_shape(x1, x2), x1.dtype(), x1.device());
}

void cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& distances,
                    Output& out) {
  check_pair(x1, x2, p);
  check_same_device({&grad, &x1, &distances});
  const Dims shape = distance_shape(x1, x2);
  for (const Tensor* t : {&grad, &distances})
    MT_CHECK(std::ranges::equal(t->sizes(), shape) && t->dtype() == x1.dtype(),
             "cdist_backward: expected distances of size ", to_string(shape), ", got ",
             to_string(t->sizes()));
  out.prepare(x1.sizes(), x1.dtype(), x1.device());
}

void pdist(const Tensor& self, double p, Output& out) {
  MT_CHECK(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  MT_CHECK(is_floating(self.dtype()), "pdist only supports floating-point dtypes");
  MT_CHECK(p >= 0, "pdist only supports non-negative p values");
  check_float_or_double(self, "pdist");
  const int64_t n = self.sizes()[0];
  MT_CHECK(n < (int64_t(1) << 31), "pdist: ", n, " points are too many");
  const int64_t pairs = n * (n - 1) / 2;
  out.prepare(IntList(&pairs, 1), self.dtype(), self.device());
}

void pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& distances, Output& out) {
  Output pairs;
  const Tensor shape =
      tensor_over(new_storage({DeviceType::meta}, 0), self.dtype(), self.sizes(), self.strides(), 0);
  pdist(shape, p, pairs);
  const Tensor wanted = pairs.take();
  check_same_device({&grad, &self, &distances});
  for (const Tensor* t : {&grad, &distances})
    MT_CHECK(std::ranges::equal(t->sizes(), wanted.sizes()) && t->dtype() == self.dtype(),
             "pdist_backward: expected distances of size ", to_string(wanted.sizes()), ", got ",
             to_string(t->sizes()));
  out.prepare(self.sizes(), self.dtype(), self.device());
}

}  // namespace mt::infer
