// Activations in terms of other operators.
#include "generated/ops/composites/activation.h"

#include "generated/ops/activation.h"
#include "generated/ops/binary.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/view.h"

namespace mt::composites {

Tensor selu(const Tensor& self) {
  return ops::elu(self, Scalar(1.6732632423543772), Scalar(1.0507009873554805), Scalar(1));
}

Tensor celu(const Tensor& self, const Scalar& alpha) {
  MT_CHECK(!alpha.equals(0), "ZeroDivisionError: alpha cannot be 0 for CELU");
  return ops::elu(self, alpha, Scalar(1.0), Scalar(1.0 / alpha.to<double>()));
}

Tensor prelu(const Tensor& self, const Tensor& weight) {
  MT_CHECK(self.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got ",
           info(self.dtype()).legacy, " and ", info(weight.dtype()).legacy);
  const int64_t count = weight.numel();
  if (count == 1) return ops::_prelu_kernel(self, weight.dim() == 0 ? weight : weight.reshape({}));
  MT_CHECK(self.dim() > 0, "Not allow zero-dim input tensor.");
  const int64_t channels = self.dim() > 1 ? self.sizes()[1] : 1;
  MT_CHECK(channels == count,
           "Mismatch of parameter numbers and input channel size. Found parameter numbers = ", count,
           " and channel size = ", channels, ".");
  MT_CHECK(weight.dim() <= 1,
           "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  Dims shape(size_t(self.dim()), 1);
  shape[1] = count;
  return ops::_prelu_kernel(self, weight.reshape(shape));
}

}  // namespace mt::composites
