#include "autograd/formulas/matmul.h"

#include "generated/ops/matmul.h"
#include "generated/ops/view.h"

namespace mt::formulas {

Tensor product_laid_out(const Tensor& a, const Tensor& b, bool turned) {
  return turned ? ops::t(ops::mm(ops::t(b), ops::t(a))) : ops::mm(a, b);
}

Tensor adjoint_of(const Tensor& matrix) { return conjugate(ops::transpose(matrix, -2, -1)); }

}  // namespace mt::formulas
