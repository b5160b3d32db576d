#include "autograd/formulas/random.h"

#include "generated/ops/random.h"
#include "generated/ops/reduce.h"

namespace mt::formulas {

Tensor sample_dirichlet_backward(const Tensor& grad, const Tensor& concentration, const Tensor& sample) {
  const Tensor slope = ops::_dirichlet_grad(sample, concentration, ops::sum(concentration, {-1}, true));
  return slope * (grad - ops::sum(sample * grad, {-1}, true));
}

}  // namespace mt::formulas
