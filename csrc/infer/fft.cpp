#include "generated/infer/fft.h"

#include "infer/checks.h"

namespace mt::infer {
namespace {

void check_transform(const Tensor& self, IntList dim, int64_t normalization) {
  MT_CHECK(normalization >= 0 && normalization <= 2,
           "FFT normalization must be 0 (none), 1 (by the root of n) or 2 (by n), got ", normalization);
  uint64_t seen = 0;
  for (int64_t d : dim) {
    MT_CHECK_AS(index, self.dim() > 0, "Dimension specified as ", d, " but tensor has no dimensions");
    const uint64_t bit = uint64_t(1) << wrap_dim(d, self.dim());
    MT_CHECK(!(seen & bit), "FFT dims must be unique");
    seen |= bit;
    const int64_t n = self.size(d);
    MT_CHECK(n > 0, "Invalid number of data points (", n, ") specified");
  }
}

}  // namespace

void fft_c2c(const Tensor& self, IntList dim, int64_t normalization, bool, Output& out) {
  MT_CHECK(is_complex(self.dtype()), "_fft_c2c expects a complex input tensor, but got ",
           info(self.dtype()).legacy);
  check_transform(self, dim, normalization);
  out.prepare(self.sizes(), self.dtype(), self.device());
}

void fft_r2c(const Tensor& self, IntList dim, int64_t normalization, bool onesided, Output& out) {
  MT_CHECK(is_float_or_double(self), "_fft_r2c expects a float or double input tensor, but got ",
           info(self.dtype()).legacy);
  MT_CHECK(!dim.empty(), "_fft_r2c must transform at least one axis");
  check_transform(self, dim, normalization);
  Dims sizes(self.sizes());
  int64_t& last = sizes[size_t(wrap_dim(dim.back(), self.dim()))];
  if (onesided) last = last / 2 + 1;
  out.prepare(sizes, complex_type(self.dtype()), self.device());
}

void fft_c2r(const Tensor& self, IntList dim, int64_t normalization, int64_t last_dim_size, Output& out) {
  MT_CHECK(is_complex(self.dtype()), "_fft_c2r expects a complex input tensor, but got ",
           info(self.dtype()).legacy);
  MT_CHECK(!dim.empty(), "_fft_c2r must transform at least one axis");
  check_transform(self, dim, normalization);
  MT_CHECK(last_dim_size > 0, "Invalid number of data points (", last_dim_size, ") specified");
  Dims sizes(self.sizes());
  int64_t& last = sizes[size_t(wrap_dim(dim.back(), self.dim()))];
  MT_CHECK(last == last_dim_size / 2 + 1, "_fft_c2r: a signal of ", last_dim_size, " points has ",
           last_dim_size / 2 + 1, " frequencies, but the last transformed dimension has ", last);
  last = last_dim_size;
  out.prepare(sizes, real_type(self.dtype()), self.device());
}

}  // namespace mt::infer
