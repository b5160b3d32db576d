// Reductions made of elementwise operators.
#include "generated/ops/substitutes/reduce.h"

#include "core/views.h"
#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/shape.h"
#include "generated/ops/view.h"
#include "infer/infer.h"

namespace mt::substitutes {

// The exclusive or of the elements' bits, as double or as int64: halves are put together until one element is left.
Tensor hash_tensor(const Tensor& self, const DimList& dim, bool keepdim, int64_t) {
  const Tensor wide = ops::_to_copy(self, is_floating(self.dtype()) ? DType::float64 : DType::int64);
  Tensor bits = ops::view(wide, DType::int64);
  const uint64_t mask = infer::dim_mask(dim, self.dim());
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!(mask >> d & 1)) continue;
    for (int64_t size; (size = bits.size(d)) > 1;) {
      const int64_t half = size / 2;
      const Tensor merged = ops::bitwise_xor(ops::narrow(bits, d, 0, half), ops::narrow(bits, d, half, half));
      bits = size % 2 ? ops::cat(std::array{merged, ops::narrow(bits, d, size - 1, 1)}, d) : merged;
    }
  }
  return ops::view(bits.reshape(infer::reduced_shape(self.sizes(), dim, keepdim)), DType::uint64);
}

}  // namespace mt::substitutes
