// Boxes that overlap.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

// Which boxes [N, 4] (x1, y1, x2, y2) are left when every one that overlaps a better one by more than `threshold`
// (intersection over union) is taken away; the best score first. Writes `keep` [N] (int64) and returns their number.
int64_t non_maximum_suppression(const View& boxes, const View& scores, double threshold, const View& keep);

// Intersection over union of boxes [N, 5] and [M, 5] (centre, width, height, degrees): out [N, M].
void rotated_overlaps(const View& boxes1, const View& boxes2, const View& out);

}  // namespace mt::kernels
