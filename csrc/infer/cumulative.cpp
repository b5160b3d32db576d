#include "generated/infer/cumulative.h"

namespace mt::infer {

void cumulative(const Tensor& self, int64_t dim, std::optional<DType> dtype, Output& out) {
  wrap_dim(dim, self.dim());
  const DType own = is_integral(self.dtype(), true) ? DType::int64 : self.dtype();
  out.prepare(self.sizes(), dtype.value_or(own), self.device());
}

// Keeps the dtype.
void cumulative(const Tensor& self, int64_t dim, Output& out) {
  wrap_dim(dim, self.dim());
  out.prepare(self.sizes(), self.dtype(), self.device());
}

}  // namespace mt::infer
