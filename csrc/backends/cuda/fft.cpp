#include "generated/cuda/fft.h"

#include <algorithm>
#include <cmath>

#include "backends/cuda/cufft.h"
#include "base/error.h"
#include "core/views.h"
#include "generated/ops/binary_tables.h"

namespace mt::cuda {
namespace {

constexpr size_t kMostDims = 3;  // that cuFFT transforms at once

int type_number(DType dtype) {
  switch (dtype) {
    case DType::float16: return fft::kReal16;
    case DType::float32: return fft::kReal32;
    case DType::float64: return fft::kReal64;
    case DType::complex32: return fft::kComplex32;
    case DType::complex64: return fft::kComplex64;
    case DType::complex128: return fft::kComplex128;
    default: fail(ErrorKind::runtime, "cuFFT has no transform of ", info(dtype).name, " tensors");
  }
}

void check_half(DType dtype, IntList signal) {
  if (dtype != DType::complex32 && dtype != DType::float16) return;
  for (int64_t size : signal)
    MT_CHECK(
        (size & (size - 1)) == 0,
        "cuFFT only supports dimensions whose sizes are powers of two when computing in half precision, but "
        "got a signal size of",
        to_string(signal));
}

// The tensor with these dimensions last, in their order.
Tensor with_last(const Tensor& tensor, const Dims& dims) {
  Dims order;
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (std::ranges::find(dims, d) == dims.end()) order.push_back(d);
  for (int64_t d : dims) order.push_back(d);
  return views::permute(tensor, order);
}

// cuFFT reads and writes real numbers by pairs.
bool is_aligned(const Tensor& tensor) {
  const size_t pair = is_complex(tensor.dtype()) ? tensor.itemsize() : 2 * tensor.itemsize();
  return reinterpret_cast<uintptr_t>(tensor.data()) % pair == 0;
}

// One plan: `from` into `to` along `dims`. A transform to real numbers destroys what it reads: that is a copy.
void transform_at_once(const Place& place, const Tensor& from, const Tensor& to, const Dims& dims,
                       fft::Direction direction, const char* name) {
  const bool to_real = !is_complex(to.dtype());
  const Tensor source = with_last(from, dims), target = with_last(to, dims);
  const bool reads_in_place = source.is_contiguous() && is_aligned(source) && !to_real;
  Tensor in = source;
  if (!reads_in_place) {
    in = new_tensor(source.sizes(), source.dtype(), source.device());
    place.accelerator.copy_on_device(source, in);
  }
  Tensor result = target;
  if (!target.is_contiguous() || !is_aligned(target))
    // A copy may be written in place, where both have the same size.
    result = !reads_in_place && from.dtype() == to.dtype()
                 ? in
                 : new_tensor(target.sizes(), target.dtype(), target.device());
  const Tensor& whole = to_real ? target : source;  // the other side may have one half only
  TransformShape shape{};
  shape.rank = int32_t(dims.size());
  shape.batch = 1;
  const IntList sizes = whole.sizes();
  const size_t others = sizes.size() - dims.size();
  for (size_t i = 0; i < others; ++i) shape.batch *= sizes[i];
  for (size_t i = 0; i < dims.size(); ++i) shape.sizes[i] = sizes[others + i];
  shape.in_type = type_number(from.dtype());
  shape.out_type = type_number(to.dtype());
  shape.compute_type = type_number(is_complex(from.dtype()) ? from.dtype() : to.dtype());
  shape.device = place.index();
  check_half(to.dtype(), sizes.subspan(others));
  transform(place, shape, in.data(), result.data(), direction, name);
  if (!result.same(target)) place.accelerator.copy_on_device(result, target);
}

// Complex numbers along all of `dims`: the first time from `from`, then in place.
void transform_complex(const Place& place, const Tensor& from, const Tensor& to, const Dims& dims,
                       fft::Direction direction) {
  const Tensor* source = &from;
  for (size_t done = 0; done < dims.size();) {
    Dims some;
    for (; done < dims.size() && some.size() < kMostDims; ++done) some.push_back(dims[done]);
    transform_at_once(place, *source, to, some, direction, "fft_c2c");
    source = &to;
  }
}

Dims wrapped(IntList dims, int64_t count) {
  Dims result;
  for (int64_t dim : dims) result.push_back(wrap_dim(dim, count));
  return result;
}

Dims without_last(const Dims& dims) { return Dims(IntList(dims.data(), dims.size() - 1)); }

// cuFFT does not divide by the number of points.
void normalize(const Tensor& out, IntList sizes, const Dims& dims, int64_t normalization) {
  if (normalization == 0) return;
  double points = 1;
  for (int64_t d : dims) points *= double(sizes[size_t(d)]);
  const double scale = 1.0 / (normalization == 1 ? std::sqrt(points) : points);
  table::mul_Scalar.find(out.device())(out, Scalar(scale), out);
}

}  // namespace

void fft_c2c(const Tensor& self, IntList dim, int64_t normalization, bool forward, const Tensor& out) {
  if (out.numel() == 0) return;
  const Place place(out);
  if (dim.empty()) return place.accelerator.copy_on_device(self, out);
  const Dims dims = wrapped(dim, self.dim());
  transform_complex(place, self, out, dims, forward ? fft::kForward : fft::kInverse);
  normalize(out, self.sizes(), dims, normalization);
}

void fft_r2c(const Tensor& self, IntList dim, int64_t normalization, bool onesided, const Tensor& out) {
  if (out.numel() == 0) return;
  const Place place(out);
  const Dims dims = wrapped(dim, self.dim());
  if (!onesided) {
    const Tensor numbers = new_tensor(self.sizes(), out.dtype(), self.device());
    place.accelerator.copy_on_device(self, numbers);
    transform_complex(place, numbers, out, dims, fft::kForward);
  } else if (dims.size() <= kMostDims) {
    transform_at_once(place, self, out, dims, fft::kForward, "fft_r2c");
  } else {
    Dims last;
    last.push_back(dims[dims.size() - 1]);
    transform_at_once(place, self, out, last, fft::kForward, "fft_r2c");
    transform_complex(place, out, out, without_last(dims), fft::kForward);
  }
  normalize(out, self.sizes(), dims, normalization);
}

void fft_c2r(const Tensor& self, IntList dim, int64_t normalization, int64_t, const Tensor& out) {
  if (out.numel() == 0) return;
  const Place place(out);
  const Dims dims = wrapped(dim, self.dim());
  if (dims.size() <= kMostDims) {
    transform_at_once(place, self, out, dims, fft::kInverse, "fft_c2r");
  } else {
    const Tensor half = new_tensor(self.sizes(), self.dtype(), self.device());
    transform_complex(place, self, half, without_last(dims), fft::kInverse);
    Dims last;
    last.push_back(dims[dims.size() - 1]);
    transform_at_once(place, half, out, last, fft::kInverse, "fft_c2r");
  }
  normalize(out, out.sizes(), dims, normalization);
}

}  // namespace mt::cuda
