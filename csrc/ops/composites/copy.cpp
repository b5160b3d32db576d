// Choosing between values, in terms of other operators.
#include "generated/ops/composites/copy.h"

#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/view.h"
#include "infer/infer.h"

namespace mt::composites {
namespace {

// A number as a 0-dim tensor beside `like`; a fill on the device, so nothing waits.
Tensor number_beside(const Scalar& value, const Tensor& like) {
  Tensor t = new_tensor({}, infer::result_type(like, value), like.device());
  ops::fill_(t, value);
  t.impl()->wrapped_number = true;
  return t;
}

}  // namespace

std::vector<Tensor> nonzero_tuple(const Tensor& condition) {
  return ops::unbind(ops::nonzero(condition.dim() == 0 ? ops::unsqueeze(condition, 0) : condition), 1);
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  MT_CHECK(mask.dtype() == DType::boolean,
           "masked_fill_ only supports boolean masks, but got mask with dtype ", c_name(mask.dtype()));
  Tensor number = new_tensor({}, self.dtype(), self.device());
  ops::fill_(number, value);
  return ops::where(mask, number, self);
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  MT_CHECK(value.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           value.dim(), " dimension(s).");
  MT_CHECK(mask.dtype() == DType::boolean,
           "masked_fill_ only supports boolean masks, but got mask with dtype ", c_name(mask.dtype()));
  const bool same = value.dtype() == self.dtype() && value.device() == self.device();
  const Tensor number = same ? value : ops::_to_copy(value, self.dtype(), self.device());
  return ops::where(mask, number, self);
}

Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other) {
  auto number = [&](const Scalar& value) {
    Tensor t = new_tensor({}, value.natural_dtype(default_dtype()), condition.device());
    ops::fill_(t, value);
    t.impl()->wrapped_number = true;
    return t;
  };
  return ops::where(condition, number(self), number(other));
}

Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other) {
  return ops::where(condition, self, number_beside(other, self));
}
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other) {
  return ops::where(condition, number_beside(self, other), other);
}

}  // namespace mt::composites
