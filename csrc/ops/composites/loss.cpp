// Losses in terms of their kernels.
#include "generated/ops/composites/loss.h"

#include <algorithm>

#include "generated/ops/loss.h"
#include "generated/ops/softmax.h"
#include "generated/ops/view.h"

namespace mt::composites {

Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                int64_t ignore_index) {
  if (self.dim() <= 2)
    return std::get<0>(ops::nll_loss_forward(self, target, weight, reduction, ignore_index));
  if (self.dim() == 4)
    return std::get<0>(ops::nll_loss2d_forward(self, target, weight, reduction, ignore_index));
  // [N, C, d1, …]: a picture of one row.
  const IntList sizes = self.sizes();
  Dims wanted{sizes[0]};
  int64_t places = 1;
  for (size_t i = 2; i < sizes.size(); ++i) wanted.push_back(sizes[i]), places *= sizes[i];
  MT_CHECK(std::ranges::equal(target.sizes(), wanted), "Expected target size ", to_string(wanted), ", got ",
           to_string(target.sizes()));
  const Tensor loss = std::get<0>(ops::nll_loss2d_forward(self.reshape(Dims{sizes[0], sizes[1], 1, places}),
                                                          target.reshape(Dims{sizes[0], 1, places}), weight,
                                                          reduction, ignore_index));
  return reduction == 0 ? loss.reshape(wanted) : loss;
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
