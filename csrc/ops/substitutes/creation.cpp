// Indices of triangles: where a mask of ones is not zero.
#include "generated/ops/substitutes/creation.h"

#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/shape.h"
#include "generated/ops/view.h"

namespace mt::substitutes {

void triangle_indices(int64_t row, int64_t col, int64_t offset, bool upper, const Tensor& out) {
  const Tensor all = ops::ones(Dims{row, col}, {DType::float32, out.device()});
  const Tensor part = upper ? ops::triu(all, offset) : ops::tril(all, offset);
  ops::copy_(out, ops::transpose(ops::nonzero_static(part, out.size(1)), 0, 1));
}

}  // namespace mt::substitutes
