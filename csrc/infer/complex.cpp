#include "generated/infer/complex.h"

#include "infer/checks.h"
#include "infer/layout.h"

namespace mt::infer {

void complex(const Tensor& real, const Tensor& imag, Output& out) {
  check_complex_parts(real, imag);
  prepare_elementwise(out, broadcast(real.sizes(), imag.sizes()), complex_type(real.dtype()), real.device(),
                      {&real, &imag});
}

}  // namespace mt::infer
