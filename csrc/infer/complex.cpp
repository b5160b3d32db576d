#include "generated/infer/complex.h"

#include "infer/checks.h"

namespace mt::infer {

void complex(const Tensor& real, const Tensor& imag, Output& out) {
  check_complex_parts(real, imag);
  out.prepare(broadcast(real.sizes(), imag.sizes()), complex_type(real.dtype()), real.device());
}

}  // namespace mt::infer
