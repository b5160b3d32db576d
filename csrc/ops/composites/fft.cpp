// torch.fft: what shapes the input of the transforms.
#include "generated/ops/composites/fft.h"

#include "generated/ops/binary.h"
#include "generated/ops/complex.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/fft.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/shape.h"
#include "generated/ops/view.h"

namespace mt::composites {
namespace {

using Norm = std::optional<std::string_view>;

enum Normalization : int64_t { kNone = 0, kByRootOfN = 1, kByN = 2 };

int64_t normalization(Norm norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? kNone : kByN;
  if (*norm == "forward") return forward ? kByN : kNone;
  if (*norm == "ortho") return kByRootOfN;
  fail(ErrorKind::runtime, "Invalid normalization mode: \"", *norm, "\"");
}

// Integers become floats; half types have no transform.
Tensor promoted(const Tensor& self, bool to_complex) {
  DType dtype = is_integral(self.dtype(), true) ? default_dtype() : self.dtype();
  MT_CHECK(dtype != DType::float16 && dtype != DType::bfloat16, "Unsupported dtype ", info(dtype).legacy);
  if (to_complex) dtype = complex_type(dtype);
  return dtype == self.dtype() ? self : ops::_to_copy(self, dtype);
}

// Cut, or filled up with zeros, to n points.
Tensor resized(const Tensor& self, int64_t dim, int64_t n) {
  const int64_t size = self.size(dim);
  if (n == size) return self;
  if (n < size) return ops::narrow(self, dim, 0, n);
  Dims rest(self.sizes());
  rest[size_t(dim)] = n - size;
  const Tensor parts[] = {self, ops::zeros(rest, {self.dtype(), self.device()})};
  return ops::cat(parts, dim);
}

void check_points(int64_t n) { MT_CHECK(n >= 1, "Invalid number of data points (", n, ") specified"); }

int64_t transformed_dim(const Tensor& self, int64_t dim) {
  MT_CHECK_AS(index, self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  return wrap_dim(dim, self.dim());
}

Tensor complex_to_complex(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm,
                          bool forward) {
  const Tensor input = promoted(self, true);
  const int64_t d = transformed_dim(input, dim);
  const int64_t points = n.value_or(input.size(d));
  check_points(points);
  return ops::_fft_c2c(resized(input, d, points), Dims{d}, normalization(norm, forward), forward);
}

Tensor real_to_complex(const char* name, const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm,
                       bool forward, bool onesided) {
  MT_CHECK(!is_complex(self.dtype()), name, " expects a real input tensor, but got ",
           info(self.dtype()).legacy);
  const Tensor input = promoted(self, false);
  const int64_t d = transformed_dim(input, dim);
  const int64_t points = n.value_or(input.size(d));
  check_points(points);
  const Tensor result =
      ops::_fft_r2c(resized(input, d, points), Dims{d}, normalization(norm, forward), onesided);
  return forward ? result : ops::conj(result);
}

Tensor complex_to_real(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm, bool forward) {
  const Tensor input = promoted(self, true);
  const int64_t d = transformed_dim(input, dim);
  const int64_t points = n.value_or(2 * (input.size(d) - 1));
  check_points(points);
  const Tensor half = resized(input, d, points / 2 + 1);
  return ops::_fft_c2r(forward ? ops::conj(half) : half, Dims{d}, normalization(norm, forward), points);
}

struct Axes {
  Dims dim, points;
  Dims last() const { return {dim[dim.size() - 1]}; }
};

Axes chosen_axes(const Tensor& self, const DimList& s, const DimList& dim) {
  Axes axes;
  uint64_t seen = 0;
  for (int64_t d : dim.dims()) {
    const int64_t at = transformed_dim(self, d);
    MT_CHECK(!(seen >> at & 1), "FFT dims must be unique");
    seen |= uint64_t(1) << at;
    axes.dim.push_back(at);
  }
  const int64_t count = int64_t(s.dims().size());
  if (s.present()) {
    MT_CHECK(!dim.present() || dim.dims().size() == s.dims().size(),
             "When given, dim and shape arguments must have the same length");
    MT_CHECK(count <= self.dim(), "Got shape with ", count, " values but input tensor only has ", self.dim(),
             " dimensions.");
  }
  if (!dim.present())
    for (int64_t d = s.present() ? self.dim() - count : 0; d < self.dim(); ++d) axes.dim.push_back(d);
  for (size_t i = 0; i < axes.dim.size(); ++i) {
    const int64_t wanted = s.present() ? s.dims()[i] : -1;
    axes.points.push_back(wanted == -1 ? self.size(axes.dim[i]) : wanted);
    check_points(axes.points[i]);
  }
  return axes;
}

void check_some(const char* name, const Axes& axes) {
  MT_CHECK(!axes.dim.empty(), name, " must transform at least one axis");
}

Tensor resized(const Tensor& self, const Axes& axes) {
  Tensor out = self;
  for (size_t i = 0; i < axes.dim.size(); ++i) out = resized(out, axes.dim[i], axes.points[i]);
  return out;
}

// The axes of a transform whose last one holds half of a symmetric spectrum; `length` is that of the real result.
Axes half_axes(const char* name, const Tensor& self, const DimList& s, const DimList& dim, int64_t& length) {
  Axes axes = chosen_axes(self, s, dim);
  check_some(name, axes);
  length = s.present() ? s.dims().back() : -1;
  if (length == -1) length = 2 * (self.size(axes.dim.back()) - 1);
  check_points(length);
  axes.points.back() = length / 2 + 1;
  return axes;
}

IntList all_but_last(const Axes& axes) { return IntList(axes.dim).subspan(0, axes.dim.size() - 1); }

// The last `shift` positions of every axis come to its front.
Tensor rolled(const Tensor& self, const DimList& dim, bool inverse) {
  Dims dims(dim.dims());
  if (!dim.present())
    for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  MT_CHECK(!dims.empty(), "`shifts` required");
  Tensor out = self;
  for (int64_t d : dims) {
    const int64_t size = out.size(d), shift = inverse ? (size + 1) / 2 : size / 2;
    if (size == 0) continue;
    const Tensor parts[] = {ops::narrow(out, d, size - shift, shift), ops::narrow(out, d, 0, size - shift)};
    out = ops::cat(parts, d);
  }
  return out;
}

TensorOptions frequency_options(const char* name, const TensorOptions& options) {
  TensorOptions out = options;
  out.dtype = options.dtype_or_default();
  MT_CHECK(is_differentiable(*out.dtype), name, " requires a floating point or complex dtype");
  return out;
}

}  // namespace

Tensor fft_fft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) {
  if (is_complex(self.dtype())) return complex_to_complex(self, n, dim, norm, true);
  return real_to_complex("fft", self, n, dim, norm, true, false);
}
Tensor fft_ifft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) {
  if (is_complex(self.dtype())) return complex_to_complex(self, n, dim, norm, false);
  return real_to_complex("ifft", self, n, dim, norm, false, false);
}
Tensor fft_rfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) {
  return real_to_complex("rfft", self, n, dim, norm, true, true);
}
Tensor fft_ihfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) {
  return real_to_complex("ihfft", self, n, dim, norm, false, true);
}
Tensor fft_irfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) {
  return complex_to_real(self, n, dim, norm, false);
}
Tensor fft_hfft(const Tensor& self, std::optional<int64_t> n, int64_t dim, Norm norm) {
  return complex_to_real(self, n, dim, norm, true);
}

Tensor fft_fftn(const Tensor& self, const DimList& s, const DimList& dim, Norm norm) {
  const Axes axes = chosen_axes(self, s, dim);
  return ops::_fft_c2c(resized(promoted(self, true), axes), axes.dim, normalization(norm, true), true);
}
Tensor fft_ifftn(const Tensor& self, const DimList& s, const DimList& dim, Norm norm) {
  const Axes axes = chosen_axes(self, s, dim);
  return ops::_fft_c2c(resized(promoted(self, true), axes), axes.dim, normalization(norm, false), false);
}
Tensor fft_rfftn(const Tensor& self, const DimList& s, const DimList& dim, Norm norm) {
  MT_CHECK(!is_complex(self.dtype()), "rfftn expects a real-valued input tensor, but got ",
           info(self.dtype()).legacy);
  const Axes axes = chosen_axes(self, s, dim);
  check_some("rfftn", axes);
  return ops::_fft_r2c(resized(promoted(self, false), axes), axes.dim, normalization(norm, true), true);
}
Tensor fft_irfftn(const Tensor& self, const DimList& s, const DimList& dim, Norm norm) {
  int64_t length;
  const Axes axes = half_axes("irfftn", self, s, dim, length);
  return ops::_fft_c2r(resized(promoted(self, true), axes), axes.dim, normalization(norm, false), length);
}
Tensor fft_hfftn(const Tensor& self, const DimList& s, const DimList& dim, Norm norm) {
  int64_t length;
  const Axes axes = half_axes("hfftn", self, s, dim, length);
  const int64_t mode = normalization(norm, true);
  Tensor half = resized(promoted(self, true), axes);
  if (axes.dim.size() > 1) half = ops::_fft_c2c(half, all_but_last(axes), mode, true);
  return ops::_fft_c2r(ops::conj(half), axes.last(), mode, length);
}
Tensor fft_ihfftn(const Tensor& self, const DimList& s, const DimList& dim, Norm norm) {
  MT_CHECK(!is_complex(self.dtype()),
           "Only supports floating-point dtypes, but found: ", info(self.dtype()).legacy);
  const Axes axes = chosen_axes(self, s, dim);
  check_some("ihfftn", axes);
  const int64_t mode = normalization(norm, false);
  const Tensor half = ops::conj(ops::_fft_r2c(resized(promoted(self, false), axes), axes.last(), mode, true));
  return axes.dim.size() == 1 ? half : ops::_fft_c2c(half, all_but_last(axes), mode, false);
}

Tensor fft_fftshift(const Tensor& self, const DimList& dim) { return rolled(self, dim, false); }
Tensor fft_ifftshift(const Tensor& self, const DimList& dim) { return rolled(self, dim, true); }

Tensor fft_fftfreq(int64_t n, double d, const TensorOptions& options) {
  const TensorOptions own = frequency_options("fftfreq", options);
  const int64_t positive = n - n / 2;
  const Tensor halves[] = {ops::arange(Scalar(0), Scalar(positive), own),
                           ops::arange(Scalar(positive - n), Scalar(0), own)};
  return ops::mul(ops::cat(halves, 0), Scalar(1.0 / (double(n) * d)));
}
Tensor fft_rfftfreq(int64_t n, double d, const TensorOptions& options) {
  const TensorOptions own = frequency_options("rfftfreq", options);
  return ops::mul(ops::arange(Scalar(0), Scalar(n / 2 + 1), own), Scalar(1.0 / (double(n) * d)));
}

}  // namespace mt::composites
