// Fourier transforms as products with matrices of cosines and sines, in real numbers: what a device of matrix
// units does well, and the only way where its library has no transform. An axis of n costs n products per point.
#include "generated/ops/substitutes/fft.h"

#include <cmath>

#include "generated/ops/binary.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/matmul.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "infer/infer.h"

namespace mt::substitutes {
namespace {

constexpr double kTurn = 6.28318530717958647692;

struct Parts {
  Tensor real, imaginary;
};
Parts parts_of(const Tensor& self) {
  const Tensor both = ops::view_as_real(self);
  return {ops::select(both, -1, 0), ops::select(both, -1, 1)};
}

// Cosines and sines of turns by j k / n for the rows j and columns k. The product is taken modulo n first, around 0,
// so that the angle is rounded once and small.
Parts waves(int64_t n, int64_t rows, int64_t columns, DType dtype, Device device) {
  const TensorOptions whole{DType::int64, device};
  const Tensor turns =
      ops::mul(ops::unsqueeze(ops::arange(Scalar(rows), whole), 1), ops::arange(Scalar(columns), whole));
  const Tensor centred = ops::sub(ops::remainder(ops::add(turns, Scalar(n / 2)), Scalar(n)), Scalar(n / 2));
  const Tensor angles = ops::mul(ops::_to_copy(centred, dtype), Scalar(kTurn / double(n)));
  return {ops::cos(angles), ops::sin(angles)};
}

// Along one axis; `sign` is -1 for the forward transform. An absent imaginary part is zero.
Parts transformed(const Parts& in, int64_t dim, int64_t columns, double sign) {
  const Tensor real = ops::transpose(in.real, dim, -1);
  const int64_t n = real.size(-1);
  const Parts wave = waves(n, n, columns, real.dtype(), real.device());
  const Tensor sine = ops::mul(wave.imaginary, Scalar(sign));
  Tensor to_real = ops::matmul(real, wave.real), to_imaginary = ops::matmul(real, sine);
  if (in.imaginary.defined()) {
    const Tensor imaginary = ops::transpose(in.imaginary, dim, -1);
    to_real = ops::sub(to_real, ops::matmul(imaginary, sine));
    to_imaginary = ops::add(to_imaginary, ops::matmul(imaginary, wave.real));
  }
  return {ops::transpose(to_real, dim, -1), ops::transpose(to_imaginary, dim, -1)};
}

Parts transformed(Parts in, IntList dims, double sign) {
  for (int64_t dim : dims) in = transformed(in, dim, in.real.size(dim), sign);
  return in;
}

double scale_of(IntList sizes, IntList dims, int64_t normalization) {
  double points = 1;
  for (int64_t d : dims) points *= double(sizes[size_t(wrap_dim(d, int64_t(sizes.size())))]);
  return normalization == 0 ? 1.0 : 1.0 / (normalization == 1 ? std::sqrt(points) : points);
}

Tensor scaled(const Parts& parts, double scale) {
  const Scalar factor(scale);
  return ops::complex(ops::mul(parts.real, factor), ops::mul(parts.imaginary, factor));
}

}  // namespace

Tensor fft_c2c(const Tensor& self, IntList dim, int64_t normalization, bool forward) {
  if (self.numel() == 0 || dim.empty()) return self;
  return scaled(transformed(parts_of(self), dim, forward ? -1 : 1),
                scale_of(self.sizes(), dim, normalization));
}

Tensor fft_r2c(const Tensor& self, IntList dim, int64_t normalization, bool onesided) {
  const int64_t last = dim.back(), n = self.size(last);
  const int64_t columns = onesided ? n / 2 + 1 : n;
  Dims sizes(self.sizes());
  sizes[size_t(wrap_dim(last, self.dim()))] = columns;
  if (self.numel() == 0)
    return new_tensor(sizes, self.dtype() == DType::float64 ? DType::complex128 : DType::complex64,
                      self.device());
  const Parts line = transformed({self, Tensor()}, last, columns, -1);
  return scaled(transformed(line, dim.first(dim.size() - 1), -1), scale_of(self.sizes(), dim, normalization));
}

// Every frequency but the first and the middle one stands for itself and its mirror image.
Tensor fft_c2r(const Tensor& self, IntList dim, int64_t normalization, int64_t last_dim_size) {
  const int64_t last = dim.back(), n = last_dim_size, half = n / 2 + 1;
  Dims sizes(self.sizes());
  sizes[size_t(wrap_dim(last, self.dim()))] = n;
  if (self.numel() == 0 || n == 0) return new_tensor(sizes, real_type(self.dtype()), self.device());
  const Parts in = transformed(parts_of(self), dim.first(dim.size() - 1), 1);
  const Tensor real = ops::transpose(ops::narrow(in.real, last, 0, half), last, -1);
  const Tensor imaginary = ops::transpose(ops::narrow(in.imaginary, last, 0, half), last, -1);
  const Parts wave = waves(n, half, n, real.dtype(), real.device());
  const Tensor count = ops::full(Dims{half, 1}, Scalar(2), {real.dtype(), real.device()});
  ops::fill_(ops::narrow(count, 0, 0, 1), Scalar(1));
  if (n % 2 == 0) ops::fill_(ops::narrow(count, 0, half - 1, 1), Scalar(1));
  const Tensor sum = ops::sub(ops::matmul(real, ops::mul(wave.real, count)),
                              ops::matmul(imaginary, ops::mul(wave.imaginary, count)));
  return ops::transpose(ops::mul(sum, Scalar(scale_of(sizes, dim, normalization))), last, -1);
}

}  // namespace mt::substitutes
