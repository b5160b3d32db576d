// Distances in terms of other operators.
#include "generated/ops/composites/distance.h"

#include "generated/ops/distance.h"

namespace mt::composites {

Tensor _pdist(const Tensor& self, double p) { return ops::_pdist_forward(self, p); }

}  // namespace mt::composites
