#include "generated/cpu/cumulative.h"

#include "backends/cpu/kernel_view.h"
#include "kernels/cumulative/cumulative.h"

namespace mt::cpu {
namespace {

void running(kernels::Running operation, const Tensor& self, int64_t dim, const Tensor& out, bool reverse) {
  const int d = int(wrap_dim(dim, self.dim()));
  kernels::cumulative(operation, view(self), view(out), d, reverse);
}

}  // namespace

void cumsum(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) {
  running(kernels::Running::sum, self, dim, out, false);
}
void cumprod(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) {
  running(kernels::Running::product, self, dim, out, false);
}
void logcumsumexp(const Tensor& self, int64_t dim, const Tensor& out) {
  running(kernels::Running::log_sum_exp, self, dim, out, false);
}
void reverse_cumsum(const Tensor& self, int64_t dim, const Tensor& out) {
  running(kernels::Running::sum, self, dim, out, true);
}
void reverse_logcumsumexp(const Tensor& self, int64_t dim, const Tensor& out) {
  running(kernels::Running::log_sum_exp, self, dim, out, true);
}

}  // namespace mt::cpu
