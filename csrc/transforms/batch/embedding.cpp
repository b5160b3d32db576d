#include "generated/batch/embedding.h"

#include "generated/ops/binary.h"
#include "generated/ops/creation.h"
#include "generated/ops/embedding.h"

namespace mt::batch {

// Tables of their own are one long table, in which each slice's rows begin further down.
Values embedding(Call& call) {
  if (!call.batched(0)) {
    Values values(call.arguments);
    values[0] = call.value(0);
    values[1] = call.value(1);
    return call.run(std::move(values));
  }
  const Tensor weight = call.value(0), indices = call.batch(1);
  const int64_t rows = weight.sizes()[1];
  const Tensor starts =
      ops::mul(ops::arange(Scalar(call.size), {indices.dtype(), indices.device()}), Scalar(rows));
  return {ops::embedding(folded(weight), ops::add(indices, with_rank(starts, indices.dim() - 1)))};
}

}  // namespace mt::batch
