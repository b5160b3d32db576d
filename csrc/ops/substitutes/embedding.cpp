// Sums of bags of rows, made of lookups and scattered sums.
#include "generated/ops/substitutes/embedding.h"

#include "generated/ops/binary.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/view.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {

Tensor bag_sums(const Tensor& weight, const Tensor& indices, const Tensor& offsets, const Tensor& weights,
                bool, bool) {
  Tensor picked = ops::index_select(weight, 0, indices);
  if (weights.defined()) picked = ops::mul(picked, ops::unsqueeze(weights, 1));
  const int64_t count = offsets.numel() - 1;
  const Tensor lengths = ops::sub(ops::narrow(offsets, 0, 1, count), ops::narrow(offsets, 0, 0, count));
  const Tensor zeros = ops::zeros(Dims{count, weight.sizes()[1]}, {weight.dtype(), weight.device()});
  return ops::index_add(zeros, 0, ops::repeat_interleave(lengths, std::optional<int64_t>(indices.numel())),
                        picked);
}

}  // namespace mt::substitutes
