#include "generated/infer/embedding.h"

#include "infer/indexing.h"

namespace mt::infer {

void embedding(const Tensor& weight, const Tensor& indices, int64_t, bool, bool, Output& out) {
  MT_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  MT_CHECK(
      is_index_type(indices.dtype()),
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but "
      "got torch.",
      info(indices.dtype()).legacy, "Tensor instead (while checking arguments for embedding)");
  check_same_device({&weight, &indices});
  Dims sizes(indices.sizes());
  sizes.push_back(weight.sizes()[1]);
  out.prepare(sizes, weight.dtype(), weight.device());
}

}  // namespace mt::infer
