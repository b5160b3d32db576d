// Order in terms of other operators.
#include "generated/ops/composites/sort.h"

#include "generated/ops/sort.h"

namespace mt::composites {

Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  return std::get<1>(ops::sort(self, dim, descending));
}
Tensor argsort(const Tensor& self, bool, int64_t dim, bool descending) {
  return argsort(self, dim, descending);
}

Tensor msort(const Tensor& self) { return std::get<0>(ops::sort(self, int64_t(0), false)); }

}  // namespace mt::composites
