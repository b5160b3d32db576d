// Activations made of other operators.
#include "generated/ops/substitutes/activation.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/unary.h"

namespace mt::substitutes {

Tensor prelu(const Tensor& self, const Tensor& weight) {
  return ops::where(ops::gt(self, Scalar(0)), self, ops::mul(weight, self));
}

}  // namespace mt::substitutes
