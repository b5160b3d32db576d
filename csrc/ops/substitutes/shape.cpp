// Diagonals and overlapping windows made of gather and scatter.
#include "generated/ops/substitutes/shape.h"

#include <cmath>

#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/view.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {

// Where each element of the window lies is read off a window of the numbers 0, 1, 2, …
Tensor as_strided_sum(const Tensor& self, int64_t room, IntList size, IntList stride, int64_t offset) {
  const Tensor places = ops::as_strided(ops::arange(Scalar(room), places_beside(self)), size, stride, offset);
  const Tensor sums = ops::zeros(Dims{room}, {self.dtype(), self.device()});
  return ops::index_add(sums, 0, places.reshape(Dims{self.numel()}), self.reshape(Dims{self.numel()}));
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t side = self.size(-1) + std::abs(offset);
  Dims sizes(self.sizes());
  sizes.back() = side;
  sizes.push_back(side);
  const Tensor square = ops::zeros(sizes, {self.dtype(), self.device()});
  ops::copy_(ops::diagonal(square, offset, -2, -1), self);
  return ops::movedim(square, Dims{-2, -1}, Dims{dim1, dim2});
}

}  // namespace mt::substitutes
