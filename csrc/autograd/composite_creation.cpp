// Tensor factories.
#include <cmath>

#include "generated/ops/ops.h"
#include "infer/infer.h"

namespace mt::composite {
namespace {

Device device_of(const TensorOptions& options) {
  MT_CHECK_AS(not_implemented, !options.pin_memory,
              "pin_memory=True is not supported by tensor factories yet; call "
              ".pin_memory() on the result");
  return resolve_device(options.device_or_default());
}

Tensor blank(IntList size, DType dtype, const TensorOptions& options) {
  return new_tensor(size, dtype, device_of(options));
}

TensorOptions like(const Tensor& self, const TensorOptions& options) {
  TensorOptions out = options;
  if (!out.dtype) out.dtype = self.dtype();
  if (!out.device) out.device = self.device();
  return out;
}

int64_t arange_length(const Scalar& start, const Scalar& end, const Scalar& step) {
  if (start.is_integral() && end.is_integral() && step.is_integral()) {
    const __int128 from = start.to<int64_t>(), to = end.to<int64_t>(), by = step.to<int64_t>();
    MT_CHECK(by != 0, "step must be nonzero");
    MT_CHECK(by > 0 ? to >= from : to <= from, "upper bound and lower bound inconsistent with step sign");
    return int64_t((to - from + by + (by > 0 ? -1 : 1)) / by);
  }
  const double from = start.to<double>(), to = end.to<double>(), by = step.to<double>();
  MT_CHECK(by != 0, "step must be nonzero");
  MT_CHECK(std::isfinite(from) && std::isfinite(to), "unsupported range: ", from, " -> ", to);
  MT_CHECK(by > 0 ? to >= from : to <= from, "upper bound and lower bound inconsistent with step sign");
  const double length = std::ceil((to - from) / by);
  MT_CHECK(length >= 0 && length <= double(INT64_MAX), "invalid size, possible overflow?");
  return int64_t(length);
}

}  // namespace

Tensor empty(IntList size, const TensorOptions& options) {
  return blank(size, options.dtype_or_default(), options);
}

Tensor empty_strided(IntList size, IntList stride, const TensorOptions& options) {
  MT_CHECK(size.size() == stride.size(), "dimensionality of sizes (", size.size(),
           ") must match dimensionality of strides (", stride.size(), ")");
  for (int64_t s : stride)
    MT_CHECK(s >= 0,
             "Tensors with negative strides are not currently supported. (got strides: ", to_string(stride),
             ")");
  return new_tensor_strided(size, stride, options.dtype_or_default(), device_of(options));
}

Tensor zeros(IntList size, const TensorOptions& options) {
  Tensor out = blank(size, options.dtype_or_default(), options);
  ops::zero_(out);
  return out;
}

Tensor ones(IntList size, const TensorOptions& options) {
  Tensor out = blank(size, options.dtype_or_default(), options);
  ops::fill_(out, 1);
  return out;
}

Tensor full(IntList size, const Scalar& fill_value, const TensorOptions& options) {
  Tensor out = blank(size, options.dtype.value_or(fill_value.natural_dtype(default_dtype())), options);
  ops::fill_(out, fill_value);
  return out;
}

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  const bool integral = start.is_integral() && end.is_integral() && step.is_integral();
  const int64_t length = arange_length(start, end, step);
  Tensor out =
      blank(IntList(&length, 1), options.dtype.value_or(integral ? DType::int64 : default_dtype()), options);
  if (length) ops::_arange(start, end, step, out);
  return out;
}
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return arange(start, end, 1, options);
}
Tensor arange(const Scalar& end, const TensorOptions& options) { return arange(0, end, 1, options); }

Tensor rand(IntList size, Generator* generator, const TensorOptions& options) {
  Tensor out = blank(size, options.dtype_or_default(), options);
  ops::uniform_(out, 0, 1, generator);
  return out;
}

Tensor randn(IntList size, Generator* generator, const TensorOptions& options) {
  Tensor out = blank(size, options.dtype_or_default(), options);
  ops::normal_(out, 0, 1, generator);
  return out;
}

Tensor randint(int64_t low, int64_t high, IntList size, Generator* generator, const TensorOptions& options) {
  MT_CHECK(low < high, "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  Tensor out = blank(size, options.dtype.value_or(DType::int64), options);
  ops::random_(out, low, high, generator);
  return out;
}
Tensor randint(int64_t high, IntList size, Generator* generator, const TensorOptions& options) {
  return randint(0, high, size, generator, options);
}

Tensor randperm(int64_t n, Generator* generator, const TensorOptions& options) {
  MT_CHECK(n >= 0, "n must be non-negative, got", n);
  Tensor out = blank(IntList(&n, 1), options.dtype.value_or(DType::int64), options);
  ops::_randperm(n, out, generator);
  return out;
}

Tensor empty_like(const Tensor& self, std::optional<MemoryFormat> format, const TensorOptions& options) {
  const TensorOptions o = like(self, options);
  infer::Output out;
  infer::to_copy(self, o.dtype, o.device, false, format, out);
  return out.take();
}
Tensor zeros_like(const Tensor& self, std::optional<MemoryFormat> format, const TensorOptions& options) {
  Tensor out = empty_like(self, format, options);
  ops::zero_(out);
  return out;
}
Tensor ones_like(const Tensor& self, std::optional<MemoryFormat> format, const TensorOptions& options) {
  Tensor out = empty_like(self, format, options);
  ops::fill_(out, 1);
  return out;
}
Tensor full_like(const Tensor& self, const Scalar& fill_value, std::optional<MemoryFormat> format,
                 const TensorOptions& options) {
  Tensor out = empty_like(self, format, options);
  ops::fill_(out, fill_value);
  return out;
}
Tensor rand_like(const Tensor& self, std::optional<MemoryFormat> format, const TensorOptions& options) {
  Tensor out = empty_like(self, format, options);
  ops::uniform_(out, 0, 1, nullptr);
  return out;
}
Tensor randn_like(const Tensor& self, std::optional<MemoryFormat> format, const TensorOptions& options) {
  Tensor out = empty_like(self, format, options);
  ops::normal_(out, 0, 1, nullptr);
  return out;
}

}  // namespace mt::composite
