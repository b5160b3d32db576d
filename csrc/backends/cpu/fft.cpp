#include "generated/cpu/fft.h"

#include <cmath>

#include "backends/cpu/kernel_view.h"
#include "kernels/fft/fft.h"

namespace mt::cpu {
namespace {

double scale_of(IntList sizes, IntList dims, int64_t normalization) {
  double points = 1;
  for (int64_t d : dims) points *= double(sizes[size_t(wrap_dim(d, int64_t(sizes.size())))]);
  return normalization == 0 ? 1.0 : 1.0 / (normalization == 1 ? std::sqrt(points) : points);
}

// Transforms `from` along each of `dims` into `to`, the first time reading `from`, then in place.
void transform(const Tensor& from, const Tensor& to, IntList dims, bool forward, double scale) {
  const Tensor* source = &from;
  for (size_t i = 0; i < dims.size(); ++i) {
    kernels::fft(view(*source), view(to), int(wrap_dim(dims[i], to.dim())), forward,
                 i + 1 == dims.size() ? scale : 1.0);
    source = &to;
  }
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
