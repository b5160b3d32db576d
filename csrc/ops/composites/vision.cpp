// torchvision's operators whose results are as large as their values say.
#include "generated/ops/composites/vision.h"

#include "generated/ops/view.h"
#include "generated/ops/vision.h"

namespace mt::composites {

Tensor nms(const Tensor& dets, const Tensor& scores, double iou_threshold) {
  const auto [keep, number] = ops::_nms(dets, scores, iou_threshold);
  return ops::slice(keep, 0, 0, item(number).to<int64_t>(), 1);
}

}  // namespace mt::composites
