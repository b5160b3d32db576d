#include "generated/cpu/softmax.h"

#include "backends/cpu/kernel_view.h"
#include "kernels/softmax/softmax.h"

namespace mt::cpu {

void softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  const Tensor in = at_least_1d(self);
  kernels::softmax(view(in), view(at_least_1d(out)), wrapped_dim(in, dim), false);
}
void log_softmax(const Tensor& self, int64_t dim, bool, const Tensor& out) {
  const Tensor in = at_least_1d(self);
  kernels::softmax(view(in), view(at_least_1d(out)), wrapped_dim(in, dim), true);
}
void softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType, const Tensor& out) {
  const Tensor y = at_least_1d(output);
  kernels::softmax_backward(view(at_least_1d(grad)), view(y), view(at_least_1d(out)), wrapped_dim(y, dim),
                            false);
}
void log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim, DType, const Tensor& out) {
  const Tensor y = at_least_1d(output);
  kernels::softmax_backward(view(at_least_1d(grad)), view(y), view(at_least_1d(out)), wrapped_dim(y, dim),
                            true);
}

}  // namespace mt::cpu
