// Methods of Tensor that are operators.
#include "generated/ops/view.h"

namespace mt {

Tensor Tensor::reshape(IntList shape) const { return ops::reshape(*this, shape); }

}  // namespace mt
