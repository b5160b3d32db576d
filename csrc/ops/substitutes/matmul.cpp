#include "generated/ops/substitutes/matmul.h"

#include "generated/ops/binary.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/shape.h"
#include "generated/ops/view.h"

namespace mt::substitutes {

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  const std::vector<Tensor> x = ops::unbind(self, dim), y = ops::unbind(other, dim);
  const auto part = [&](size_t i, size_t j) {
    return ops::addcmul(ops::mul(x[i], y[j]), x[j], y[i], Scalar(-1));
  };
  const Tensor parts[] = {part(1, 2), part(2, 0), part(0, 1)};
  return ops::stack(parts, dim);
}

}  // namespace mt::substitutes
