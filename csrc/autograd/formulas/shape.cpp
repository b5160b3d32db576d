#include "autograd/formulas/shape.h"

#include "generated/ops/creation.h"
#include "generated/ops/view.h"

namespace mt::formulas {

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<Dims>& sizes, int64_t dim) {
  std::vector<Tensor> out;
  int64_t at = 0;
  for (const Dims& s : sizes) {
    if (s.size() == 1 && s[0] == 0) {  // skipped by cat
      out.push_back(ops::zeros(s, {grad.dtype(), grad.device()}));
      continue;
    }
    const int64_t length = s[size_t(wrap_dim(dim, int64_t(s.size())))];
    out.push_back(ops::slice(grad, dim, at, at + length, 1));
    at += length;
  }
  return out;
}

}  // namespace mt::formulas
