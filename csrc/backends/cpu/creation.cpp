#include "generated/cpu/creation.h"

#include "backends/cpu/kernel_view.h"
#include "kernels/creation/creation.h"

namespace mt::cpu {

void arange(const Scalar& start, const Scalar&, const Scalar& step, const Tensor& out) {
  kernels::arange(view(out), start, step);
}
void linspace(const Scalar& start, const Scalar& end, const Tensor& out) {
  kernels::linspace(view(out), start, end);
}
void triangle_indices(int64_t row, int64_t col, int64_t offset, bool upper, const Tensor& out) {
  kernels::triangle_indices(view(out), row, col, offset, upper);
}

}  // namespace mt::cpu
