#include "generated/cpu/complex.h"

#include "backends/cpu/kernel_view.h"
#include "core/views.h"

namespace mt::cpu {

void complex(const Tensor& real, const Tensor& imag, const Tensor& out) {
  const Tensor parts = views::view_as_real(out);
  kernels::copy(view(views::expand(real, out.sizes(), true)), view(views::select(parts, -1, 0)));
  kernels::copy(view(views::expand(imag, out.sizes(), true)), view(views::select(parts, -1, 1)));
}

}  // namespace mt::cpu
