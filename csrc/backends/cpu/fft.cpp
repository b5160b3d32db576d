#include "generated/cpu/fft.h"

#include <cmath>
#include <vector>

#include "backends/cpu/kernel_view.h"
#include "kernels/fft/fft.h"

namespace mt::cpu {
namespace {

double scale_of(IntList sizes, IntList dims, int64_t normalization) {
  double points = 1;
  for (int64_t d : dims) points *= double(sizes[size_t(wrap_dim(d, int64_t(sizes.size())))]);
  return normalization == 0 ? 1.0 : 1.0 / (normalization == 1 ? std::sqrt(points) : points);
}

void transform(const Tensor& from, const Tensor& to, IntList dims, bool forward, double scale) {
  std::vector<int> along;
  for (int64_t d : dims) along.push_back(int(wrap_dim(d, to.dim())));
  kernels::fft(view(from), view(to), along, forward, scale);
}

}  // namespace

void fft_c2c(const Tensor& self, IntList dim, int64_t normalization, bool forward, const Tensor& out) {
  if (out.numel() == 0) return;
  if (dim.empty()) return kernels::copy(view(self), view(out));
  transform(self, out, dim, forward, scale_of(self.sizes(), dim, normalization));
}

void fft_r2c(const Tensor& self, IntList dim, int64_t normalization, bool onesided, const Tensor& out) {
  if (out.numel() == 0) return;
  const double scale = scale_of(self.sizes(), dim, normalization);
  if (!onesided) return transform(self, out, dim, true, scale);
  const IntList others = dim.subspan(0, dim.size() - 1);
  kernels::real_fft(view(self), view(out), int(wrap_dim(dim.back(), out.dim())),
                    others.empty() ? scale : 1.0);
  transform(out, out, others, true, scale);
}

void fft_c2r(const Tensor& self, IntList dim, int64_t normalization, int64_t, const Tensor& out) {
  if (out.numel() == 0) return;
  const IntList others = dim.subspan(0, dim.size() - 1);
  Tensor half = self;
  if (!others.empty()) {
    half = new_tensor(self.sizes(), self.dtype(), self.device());
    transform(self, half, others, false, 1.0);
  }
  kernels::inverse_real_fft(view(half), view(out), int(wrap_dim(dim.back(), out.dim())),
                            scale_of(out.sizes(), dim, normalization));
}

}  // namespace mt::cpu
