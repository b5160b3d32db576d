// Losses in terms of their kernels.
#include "generated/ops/composites/loss.h"

#include "generated/ops/loss.h"
#include "generated/ops/softmax.h"
#include "generated/ops/view.h"

namespace mt::composites {

Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore_index) {
  if (self.dim() <= 2)
    return std::get<0>(ops::nll_loss_forward(self, target, weight, reduction, ignore_index));
  // [N, C, d1, …]: every position is a row of its own.
  Dims order;
  order.push_back(0);
  for (int64_t i = 2; i < self.dim(); ++i) order.push_back(i);
  order.push_back(1);
  const Tensor rows = ops::permute(self, order).reshape(Dims{-1, self.sizes()[1]});
  const Tensor loss =
      std::get<0>(ops::nll_loss_forward(rows, target.reshape(Dims{-1}), weight, reduction, ignore_index));
  return reduction == 0 ? loss.reshape(target.sizes()) : loss;
}

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                          int64_t ignore_index, double label_smoothing) {
  MT_CHECK_AS(not_implemented, label_smoothing == 0.0 && !is_floating(target.dtype()),
              "cross_entropy_loss: class probabilities and label smoothing are composed in "
              "nn.functional.cross_entropy");
  return ops::nll_loss(ops::log_softmax(self, self.dim() == 1 ? 0 : 1), target, weight, reduction,
                       ignore_index);
}

}  // namespace mt::composites
