#include "generated/cpu/padding.h"

#include "backends/cpu/kernel_view.h"
#include "kernels/padding/edges.h"

namespace mt::cpu {

void constant_pad(const Tensor& self, IntList pad, const Scalar& value, const Tensor& out) {
  kernels::constant_pad(view(self), pad, value, view(out));
}

void extend_edges(const Tensor& self, IntList pad, int64_t mode, const Tensor& out) {
  kernels::extend_edges(view(self), pad, kernels::Edge(mode), view(out));
}

void extend_edges_backward(const Tensor& grad, IntList pad, int64_t mode, const Tensor& out) {
  kernels::extend_edges_backward(view(grad), pad, kernels::Edge(mode), view(out));
}

}  // namespace mt::cpu
