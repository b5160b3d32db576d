// The gradient of embeddings, in terms of other operators.
#include "generated/ops/composites/embedding.h"

#include "autograd/formulas/zeros.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/view.h"

namespace mt::composites {

Tensor embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, int64_t num_weights,
                                int64_t padding_idx, bool scale_grad_by_freq) {
  const Tensor at = indices.reshape(Dims{-1});
  Tensor rows = grad_output.reshape(Dims{at.numel(), grad_output.sizes()[size_t(grad_output.dim() - 1)]});
  const TensorOptions options{grad_output.dtype(), grad_output.device()};
  if (scale_grad_by_freq) {
    const Tensor ones = ops::ones(at.sizes(), options);
    const Tensor counts = ops::index_add(ops::zeros(Dims{num_weights}, options), 0, at, ones);
    rows = ops::div(rows, ops::unsqueeze(ops::index_select(counts, 0, at), 1));
  }
  if (padding_idx >= 0)
    rows = ops::masked_fill(rows, ops::unsqueeze(ops::eq(at, Scalar(padding_idx)), 1), Scalar(0));
  const int64_t sizes[] = {num_weights, rows.sizes()[1]};
  return ops::index_add(formulas::nothing_of(grad_output, sizes), 0, at, rows);
}

}  // namespace mt::composites
