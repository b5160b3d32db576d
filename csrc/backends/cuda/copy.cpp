#include "generated/cuda/copy.h"

#include "backends/cuda/cuda_driver.h"

namespace mt::cuda {

void fill(const Tensor& self, const Scalar& value) { gpu().fill(self, value); }

void zero(const Tensor& self) { gpu().fill(self, Scalar(int64_t(0))); }

}  // namespace mt::cuda
