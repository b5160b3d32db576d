#include "generated/cpu/softmax.h"

#include "backends/cpu/kernel_view.h"
#include "kernels/softmax/softmax.h"

namespace mt::cpu {

void softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  kernels::softmax(view_along(self), view_along(out), wrapped_dim(self, dim), false);
}
void log_softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  kernels::softmax(view_along(self), view_along(out), wrapped_dim(self, dim), true);
}
void softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType, const Tensor& out) {
  kernels::softmax_backward(view_along(grad), view_along(output), view_along(out), wrapped_dim(output, dim),
                            false);
}
void log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType, const Tensor& out) {
  kernels::softmax_backward(view_along(grad), view_along(output), view_along(out), wrapped_dim(output, dim),
                            true);
}

}  // namespace mt::cpu
