#include "backends/cpu/kernel_view.h"

#include "core/views.h"

namespace mt::cpu {
namespace {

Tensor copied(const Tensor& t, DType dtype) {
  Tensor copy = new_tensor(t.sizes(), dtype, t.device());
  kernels::copy(view(t), view(copy));
  return copy;
}

}  // namespace

Tensor at_least_1d(const Tensor& t) { return t.dim() == 0 ? views::unsqueeze(t, 0) : t; }

Tensor dense(const Tensor& t) { return t.defined() ? dense(t, t.dtype()) : t; }
Tensor dense(const Tensor& t, DType dtype) {
  return t.is_contiguous() && t.dtype() == dtype ? t : copied(t, dtype);
}
Tensor as_long(const Tensor& t) { return t.dtype() == DType::int64 ? t : copied(t, DType::int64); }

}  // namespace mt::cpu
