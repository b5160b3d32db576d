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

void bag_sums(const Tensor& weight, const Tensor& indices, const Tensor& offsets, const Tensor& weights, bool,
              bool, Output& out) {
  constexpr const char* name = "embedding_bag";
  MT_CHECK(weight.dim() == 2, name, ": wanted a table of two dimensions, got ", weight.dim());
  for (const Tensor* list : {&indices, &offsets}) {
    MT_CHECK(list->dim() == 1 && is_index_type(list->dtype()), name,
             ": wanted indices and offsets in one dimension, of int32 or int64, got ",
             to_string(list->sizes()), " of ", info(list->dtype()).name);
  }
  MT_CHECK(offsets.numel() > 0, name, ": wanted an offset more than there are bags, got none");
  check_same_device({&weight, &indices, &offsets});
  if (weights.defined()) {
    MT_CHECK(weights.dim() == 1 && weights.numel() == indices.numel() && weights.dtype() == weight.dtype(),
             name, ": wanted a weight for each of the ", indices.numel(),
             " indices, of the table's dtype, got ", to_string(weights.sizes()), " of ",
             info(weights.dtype()).name);
  }
  out.prepare(Dims{offsets.numel() - 1, weight.sizes()[1]}, weight.dtype(), weight.device());
}

}  // namespace mt::infer
