// Draws made of draws, on every device.
#include "generated/ops/any_device/random.h"

#include "autograd/without_history.h"
#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/random.h"
#include "generated/ops/reduce.h"

namespace mt::any_device {

void sample_dirichlet(const Tensor& self, Generator* generator, const Tensor& out) {
  const autograd::WithoutHistory guard;
  const Tensor parts = ops::_standard_gamma(self, generator);
  ops::copy_(out, ops::div(parts, ops::sum(parts, {-1}, true)), false);
}

}  // namespace mt::any_device
