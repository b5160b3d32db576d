#include "generated/cpu/copy.h"

#include "backends/cpu/kernel_view.h"
#include "kernels/creation/creation.h"
#include "kernels/elementwise/elementwise.h"

namespace mt::cpu {

void fill(const Tensor& self, const Scalar& value) { kernels::fill(view(self), value); }
void zero(const Tensor& self) { kernels::fill(view(self), 0); }

void where(const Tensor& condition, const Tensor& self, const Tensor& other, const Tensor& out) {
  kernels::where(view(condition), view(self), view(other), view(out));
}

}  // namespace mt::cpu
