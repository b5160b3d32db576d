#include "generated/cpu/creation.h"

#include "backends/cpu/generator.h"
#include "backends/cpu/kernel_view.h"
#include "kernels/creation/creation.h"
#include "kernels/random/random.h"

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

void randperm(int64_t, const Tensor& out, Generator* generator) {
  with_engine(generator, [&](kernels::Mt19937& engine) { kernels::randperm(view(out), engine); });
}

}  // namespace mt::cpu
