#include "generated/cpu/copy.h"

#include "backends/cpu/kernel_view.h"
#include "kernels/creation/creation.h"

namespace mt::cpu {

void fill(const Tensor& self, const Scalar& value) { kernels::fill(view(self), value); }
void zero(const Tensor& self) { kernels::fill(view(self), 0); }

}  // namespace mt::cpu
