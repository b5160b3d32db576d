#include "transforms/channels.h"

#include "generated/ops/view.h"

namespace mt::batch {

Tensor beside(const Tensor& batch) {
  Dims order{1, 0};
  for (int64_t d = 2; d < batch.dim(); ++d) order.push_back(d);
  const Tensor turned = ops::permute(batch, order);
  Dims sizes{turned.sizes()[0], turned.sizes()[1] * turned.sizes()[2]};
  for (int64_t s : turned.sizes().subspan(3)) sizes.push_back(s);
  return turned.reshape(sizes);
}
Tensor apart(const Tensor& tensor, int64_t size) {
  Dims sizes{tensor.sizes()[0], size, tensor.sizes()[1] / size}, order{1, 0};
  for (int64_t s : tensor.sizes().subspan(2)) sizes.push_back(s);
  const Tensor made = tensor.reshape(sizes);
  for (int64_t d = 2; d < made.dim(); ++d) order.push_back(d);
  return ops::permute(made, order);
}

}  // namespace mt::batch
