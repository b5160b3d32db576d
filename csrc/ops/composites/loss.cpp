// Losses in terms of their kernels.
#include "generated/ops/composites/loss.h"

#include <algorithm>

#include "autograd/node.h"
#include "core/intercept.h"
#include "core/intercept_python.h"
#include "core/transform.h"
#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/loss.h"
#include "generated/ops/reduce.h"
#include "generated/ops/softmax.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"

namespace mt::composites {
namespace {

// Every number names a class. Reading them waits for the device.
void check_labels(const Tensor& given, int64_t classes) {
  const Tensor& labels = of_all_slices(given);
  if (labels.device().is_meta() || wanted_by_python(special(labels))) return;
  const bool here = labels.device().is_cpu() && labels.is_contiguous();
  const Tensor host =
      here ? labels : ops::_to_copy(labels, std::nullopt, Device{}, false, MemoryFormat::contiguous);
  for (int64_t i = 0; i < host.numel(); ++i) {
    const int64_t label = host.data<int64_t>()[i];
    MT_CHECK(label >= 0 && label < classes, "target out of range");
  }
}

}  // namespace

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

Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
                         const Tensor& weight, int64_t reduction) {
  autograd::refuse_gradient(weight, "multi_margin_loss", "weight");
  const auto power = p.to<int64_t>();
  MT_CHECK(power == 1 || power == 2, "only p == 1 and p == 2 supported");
  MT_CHECK(self.dim() <= 2 && (self.dim() == 0 || self.size(-1) != 0),
           "Expected non-empty vector or matrix with optional 0-dim batch size, but got: ",
           to_string(self.sizes()));
  const Tensor scores = self.dim() == 2 ? self : self.reshape(Dims{1, -1});
  const int64_t samples = scores.size(0), classes = scores.size(1);
  MT_CHECK(target.dim() <= 1 && target.numel() == samples,
           "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples "
           "(batch size). Expected target size [",
           samples, "], but got ", to_string(target.sizes()), ". Input has shape ", to_string(self.sizes()),
           ".");
  MT_CHECK(!weight.defined() || (weight.dim() <= 1 && weight.numel() == classes),
           "inconsistent weight size, expected ", classes, " but got ",
           weight.defined() ? to_string(weight.sizes()) : "");
  MT_CHECK(!weight.defined() || weight.dtype() == self.dtype(), "expected scalar type ",
           info(self.dtype()).legacy, " but found ", weight.defined() ? info(weight.dtype()).legacy : "");
  MT_CHECK(target.dtype() == DType::int64, "expected scalar type Long but found ",
           info(target.dtype()).legacy);
  check_labels(target, classes);
  const Tensor labels = target.reshape(Dims{samples, 1});
  const Tensor wanted = ops::sub(ops::gather(scores, 1, labels), margin);
  Tensor lack = ops::clamp_min(ops::sub(scores, wanted), Scalar(0));
  if (power == 2) lack = ops::mul(lack, lack);
  if (weight.defined()) {
    const Tensor own = ops::index_select(weight.reshape(Dims{classes}), 0, labels.reshape(Dims{samples}));
    lack = ops::mul(lack, ops::unsqueeze(own, 1));
  }
  lack = ops::scatter(lack, 1, labels, Scalar(0));
  if (reduction != 0) {
    const int64_t count = reduction == 1 ? samples * classes : classes;
    return ops::div(ops::sum(lack, DimList(), false), Scalar(count));
  }
  const Tensor loss = ops::div(ops::sum(lack, DimList(1), false), Scalar(classes));
  return target.dim() == 1 ? loss : loss.reshape(Dims{});
}

}  // namespace mt::composites
