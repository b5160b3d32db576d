// Tensor factories.
#include "generated/ops/composites/creation.h"

#include <algorithm>
#include <cmath>

#include "core/determinism.h"
#include "core/warn.h"
#include "generated/infer/copy.h"
#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/random.h"
#include "generated/ops/view.h"
#include "infer/infer.h"
#include "ops/new_memory.h"

namespace mt::composites {
namespace {

Device device_of(const TensorOptions& options) { return resolve_device(options.device_or_default()); }

Tensor blank(IntList size, DType dtype, const TensorOptions& options) {
  return new_tensor(size, dtype, device_of(options));
}

// A factory's result: filling it was no write that anyone saw.
Tensor unwritten(const Tensor& made) {
  made.impl()->version->store(0, std::memory_order_relaxed);
  return made;
}

// A tensor that nobody has written to: what lies in its memory is not for programs that want determinism to see.
Tensor uninitialized(Tensor made) {
  if (!fills_new_memory() || made.device().is_meta() || made.numel() == 0) [[likely]]
    return made;
  const int64_t count = int64_t(made.storage().nbytes / made.itemsize()), one = 1;
  fill_new_memory(tensor_over(made.storage_ref(), made.dtype(), IntList(&count, 1), IntList(&one, 1), 0));
  return unwritten(made);
}

TensorOptions like(const Tensor& self, const TensorOptions& options) {
  TensorOptions out = options;
  if (!out.dtype) out.dtype = self.dtype();
  if (!out.device) out.device = self.device();
  return out;
}

// The value of a 0-dim tensor that stands for a number.
Scalar number_of(const Tensor& t, const char* op, const char* name) {
  MT_CHECK(t.dim() == 0, op, " only supports 0-dimensional start and end tensors, but got ", name, " with ",
           t.dim(), " dimension(s).");
  if (!t.device().is_meta()) return item(t);
  return is_complex(t.dtype()) ? Scalar(complex128()) : Scalar(0);  // any number of its kind
}
// Between ends without values there are none.
TensorOptions between(std::initializer_list<const Tensor*> ends, TensorOptions options) {
  for (const Tensor* end : ends)
    if (end->device().is_meta()) options.device = end->device();
  return options;
}

void check_steps(int64_t steps) { MT_CHECK(steps >= 0, "number of steps must be non-negative"); }

// Complex ends make a complex result, which another dtype cannot hold.
DType spaced_dtype(const char* op, const Scalar& start, const Scalar& end, const TensorOptions& options) {
  if (!start.is_complex() && !end.is_complex()) return options.dtype_or_default();
  const DType natural = Scalar(complex128()).natural_dtype(default_dtype());
  const DType dtype = options.dtype.value_or(natural);
  MT_CHECK(is_complex(dtype), "torch.", op, "(): inferred dtype ", c_name(natural),
           " can't be safely cast to passed dtype ", info(dtype).legacy);
  return dtype;
}

// Elements at or below a diagonal: row i has min(i + offset + 1, col) of them, at least none.
__int128 triangle_size(int64_t row, int64_t col, __int128 offset) {
  const __int128 first = std::clamp<__int128>(-offset, 0, row);              // the first row with any
  const __int128 full = std::clamp<__int128>(col - offset - 1, first, row);  // the first row with all
  return (first + full + 2 * offset + 1) * (full - first) / 2 + (row - full) * col;
}

Tensor triangle(int64_t row, int64_t col, int64_t offset, bool upper, const TensorOptions& options) {
  const DType dtype = options.dtype.value_or(DType::int64);
  MT_CHECK_AS(not_implemented, dtype == DType::int64 || dtype == DType::int32,
              upper ? "\"triu_indices\"" : "\"tril_indices\"", " not implemented for '", info(dtype).legacy,
              "'");
  MT_CHECK(row >= 0, "row must be non-negative, got", row);
  MT_CHECK(col >= 0, "col must be non-negative, got", col);
  const __int128 all = __int128(row) * col;
  MT_CHECK(all <= INT64_MAX / 4, "the indices of a ", row, "x", col, " triangle do not fit into memory");
  // What lies above the diagonal is what does not lie at or below the one before it.
  const __int128 below = triangle_size(row, col, upper ? __int128(offset) - 1 : offset);
  const int64_t sizes[] = {2, int64_t(upper ? all - below : below)};
  Tensor out = blank(sizes, dtype, options);
  if (sizes[1]) ops::_triangle_indices(row, col, offset, upper, out);
  return out;
}

int64_t arange_length(const Scalar& start, const Scalar& end, const Scalar& step) {
  if (start.is_integral() && end.is_integral() && step.is_integral()) {
    const __int128 from = start.to<int64_t>(), to = end.to<int64_t>(), by = step.to<int64_t>();
    MT_CHECK(by != 0, "step must be nonzero");
    MT_CHECK(by > 0 ? to >= from : to <= from, "upper bound and lower bound inconsistent with step sign");
    return int64_t((to - from + by + (by > 0 ? -1 : 1)) / by);
  }
  for (const Scalar* s : {&start, &end, &step})
    MT_CHECK(!s->is_complex() || s->to<complex128>().imag() == 0,
             "value cannot be converted to type double without overflow");
  const double from = start.to<double>(), to = end.to<double>(), by = step.to<double>();
  MT_CHECK(by != 0, "step must be nonzero");
  MT_CHECK(std::isfinite(from) && std::isfinite(to), "unsupported range: ", from, " -> ", to);
  MT_CHECK(by > 0 ? to >= from : to <= from, "upper bound and lower bound inconsistent with step sign");
  const double length = std::ceil((to - from) / by);
  MT_CHECK(length >= 0 && length <= double(INT64_MAX), "invalid size, possible overflow?");
  return int64_t(length);
}

}  // namespace

Tensor empty(IntList size, std::optional<MemoryFormat> format, const TensorOptions& options) {
  if (!format || *format == MemoryFormat::contiguous)
    return uninitialized(blank(size, options.dtype_or_default(), options));
  MT_CHECK(*format != MemoryFormat::preserve, "unsupported memory format Preserve");
  for (int64_t s : size) MT_CHECK(s >= 0, "empty: Dimension size must be non-negative.");
  return uninitialized(new_tensor_strided(size, infer::strides_for(size, *format), options.dtype_or_default(),
                                          device_of(options)));
}

Tensor empty_strided(IntList size, IntList stride, const TensorOptions& options) {
  MT_CHECK(size.size() == stride.size(), "dimensionality of sizes (", size.size(),
           ") must match dimensionality of strides (", stride.size(), ")");
  for (int64_t s : stride)
    MT_CHECK(s >= 0,
             "Tensors with negative strides are not currently supported. (got strides: ", to_string(stride),
             ")");
  return uninitialized(new_tensor_strided(size, stride, options.dtype_or_default(), device_of(options)));
}

Tensor empty_permuted(IntList size, IntList physical_layout, const TensorOptions& options) {
  const size_t n = size.size();
  MT_CHECK(physical_layout.size() == n,
           "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = ",
           n, " is not equal to len(physical_layout) = ", physical_layout.size());
  Dims strides(n);
  SmallVector<uint8_t, 8> seen;
  for (size_t i = 0; i < n; ++i) seen.push_back(0);
  int64_t stride = 1;
  for (size_t i = n; i-- > 0;) {
    const int64_t d = physical_layout[i];
    MT_CHECK(d >= 0 && size_t(d) < n, "Dimension out of range (expected to be between 0 and ", int64_t(n) - 1,
             ", but got ", d, " at index ", i,
             ").  NB: negative dims not currently supported; file an issue if you want it.");
    MT_CHECK(!seen[size_t(d)], "Duplicate dim not allowed");
    seen[size_t(d)] = 1;
    MT_CHECK(size[size_t(d)] >= 0, "empty_permuted: Dimension size must be non-negative.");
    strides[size_t(d)] = stride;
    const int64_t length = std::max<int64_t>(size[size_t(d)], 1);
    stride = int64_t(uint64_t(stride) *
                     uint64_t(length));  // may wrap where there are too many elements, which is refused
  }
  return uninitialized(new_tensor_strided(size, strides, options.dtype_or_default(), device_of(options)));
}

Tensor zeros(IntList size, const TensorOptions& options) {
  Tensor out = blank(size, options.dtype_or_default(), options);
  ops::zero_(out);
  return unwritten(out);
}

Tensor ones(IntList size, const TensorOptions& options) {
  Tensor out = blank(size, options.dtype_or_default(), options);
  ops::fill_(out, 1);
  return unwritten(out);
}

Tensor full(IntList size, const Scalar& fill_value, const TensorOptions& options) {
  Tensor out = blank(size, options.dtype.value_or(fill_value.natural_dtype(default_dtype())), options);
  ops::fill_(out, fill_value);
  return unwritten(out);
}

Tensor scalar_tensor(const Scalar& s, const TensorOptions& options) {
  Tensor out = blank({}, options.dtype_or_default(), options);
  ops::fill_(out, s);
  return unwritten(out);
}

Tensor eye(int64_t n, int64_t m, const TensorOptions& options) {
  MT_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
  MT_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
  const int64_t sizes[] = {n, m};
  Tensor out = zeros(sizes, options);
  if (n && m) ops::fill_(ops::diagonal(out, 0, 0, 1), 1);
  return unwritten(out);
}
Tensor eye(int64_t n, const TensorOptions& options) { return eye(n, n, options); }

// Deprecated: like arange, but the end belongs to it, and floats are the default.
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  warn(
      "torch.range is deprecated and will be removed in a future release because its behavior is "
      "inconsistent with "
      "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).");
  const double from = start.to<double>(), to = end.to<double>(), by = step.to<double>();
  MT_CHECK(by != 0, "step must be nonzero");
  MT_CHECK(std::isfinite(from) && std::isfinite(to), "unsupported range: ", from, " -> ", to);
  MT_CHECK(by > 0 ? to >= from : to <= from, "upper bound and lower bound inconsistent with step sign");
  const double length = std::floor((to - from) / by) + 1;
  MT_CHECK(length <= double(INT64_MAX), "invalid size, possible overflow?");
  const int64_t size = int64_t(length);
  Tensor out = blank(IntList(&size, 1), options.dtype_or_default(), options);
  // Half a step beyond the last number: ranges of kernels end before their end.
  ops::_arange(start, from + by * (length - 0.5), step, out);
  return unwritten(out);
}

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& options) {
  check_steps(steps);
  Tensor out = blank(IntList(&steps, 1), spaced_dtype("linspace", start, end, options), options);
  if (steps) ops::_linspace(start, end, out);
  return unwritten(out);
}
Tensor linspace(const Tensor& start, const Tensor& end, int64_t steps, const TensorOptions& options) {
  const Scalar from = number_of(start, "linspace", "start");
  return linspace(from, number_of(end, "linspace", "end"), steps, between({&start, &end}, options));
}
Tensor linspace(const Tensor& start, const Scalar& end, int64_t steps, const TensorOptions& options) {
  return linspace(number_of(start, "linspace", "start"), end, steps, between({&start}, options));
}
Tensor linspace(const Scalar& start, const Tensor& end, int64_t steps, const TensorOptions& options) {
  return linspace(start, number_of(end, "linspace", "end"), steps, between({&end}, options));
}

// Powers of the base; for integers the exponents are floats between the whole ends.
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                const TensorOptions& options) {
  check_steps(steps);
  const DType dtype = spaced_dtype("logspace", start, end, options);
  TensorOptions exponent_options = options;
  const bool integral = is_integral(dtype, true);
  exponent_options.dtype = integral ? DType::float32 : dtype;
  const Tensor exponents = integral
                               ? linspace(start.to<int64_t>(), end.to<int64_t>(), steps, exponent_options)
                               : linspace(start, end, steps, exponent_options);
  // The power in double: rounded once, to the result's dtype.
  const DType wide = is_complex(dtype) ? DType::complex128 : DType::float64;
  const Tensor powers =
      ops::pow(wrapped_scalar(base), ops::_to_copy(exponents, wide, std::nullopt, false, std::nullopt));
  return ops::_to_copy(powers, dtype, std::nullopt, false, std::nullopt);
}
Tensor logspace(const Tensor& start, const Tensor& end, int64_t steps, double base,
                const TensorOptions& options) {
  const Scalar from = number_of(start, "logspace", "start");
  return logspace(from, number_of(end, "logspace", "end"), steps, base, between({&start, &end}, options));
}
Tensor logspace(const Tensor& start, const Scalar& end, int64_t steps, double base,
                const TensorOptions& options) {
  return logspace(number_of(start, "logspace", "start"), end, steps, base, between({&start}, options));
}
Tensor logspace(const Scalar& start, const Tensor& end, int64_t steps, double base,
                const TensorOptions& options) {
  return logspace(start, number_of(end, "logspace", "end"), steps, base, between({&end}, options));
}

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  return triangle(row, col, offset, false, options);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  return triangle(row, col, offset, true, options);
}

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  MT_CHECK_AS(not_implemented, !options.dtype || !is_complex(*options.dtype),
              "\"arange\" not implemented for '", info(options.dtype.value_or(DType::int64)).legacy, "'");
  const bool integral = start.is_integral() && end.is_integral() && step.is_integral();
  if (!integral && options.dtype && is_integral(*options.dtype, false)) {
    // Integers are counted in whole steps, which may be none; only int64 also cuts off where the range ends.
    MT_CHECK_AS(value,
                *options.dtype != DType::int64 || step.is_complex() || std::abs(step.to<double>()) >= 1,
                "step must be nonzero");
    if (*options.dtype == DType::int64 && !start.is_complex() && !end.is_complex() &&
        std::isfinite(start.to<double>()) && std::isfinite(end.to<double>()))
      return arange(start.to<int64_t>(), end.to<int64_t>(), step.to<int64_t>(), options);
  }
  const int64_t length = arange_length(start, end, step);
  Tensor out =
      blank(IntList(&length, 1), options.dtype.value_or(integral ? DType::int64 : default_dtype()), options);
  if (length) ops::_arange(start, end, step, out);
  return unwritten(out);
}
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return arange(start, end, 1, options);
}
Tensor arange(const Scalar& end, const TensorOptions& options) { return arange(0, end, 1, options); }

Tensor rand(IntList size, Generator* generator, const TensorOptions& options) {
  Tensor out = blank(size, options.dtype_or_default(), options);
  ops::uniform_(out, 0, 1, generator);
  return unwritten(out);
}

Tensor randn(IntList size, Generator* generator, const TensorOptions& options) {
  Tensor out = blank(size, options.dtype_or_default(), options);
  ops::normal_(out, 0, 1, generator);
  return unwritten(out);
}

Tensor randint(int64_t low, int64_t high, IntList size, Generator* generator, const TensorOptions& options) {
  MT_CHECK(low < high, "random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  Tensor out = blank(size, options.dtype.value_or(DType::int64), options);
  ops::random_(out, low, high, generator);
  return unwritten(out);
}
Tensor randint(int64_t high, IntList size, Generator* generator, const TensorOptions& options) {
  return randint(0, high, size, generator, options);
}

Tensor empty_like(const Tensor& self, std::optional<MemoryFormat> format, const TensorOptions& options) {
  const TensorOptions o = like(self, options);
  infer::Output out;
  infer::to_copy(self, o.dtype, o.device, false, format, out);
  return uninitialized(out.take());
}
Tensor zeros_like(const Tensor& self, std::optional<MemoryFormat> format, const TensorOptions& options) {
  Tensor out = empty_like(self, format, options);
  ops::zero_(out);
  return unwritten(out);
}
Tensor ones_like(const Tensor& self, std::optional<MemoryFormat> format, const TensorOptions& options) {
  Tensor out = empty_like(self, format, options);
  ops::fill_(out, 1);
  return unwritten(out);
}
Tensor full_like(const Tensor& self, const Scalar& fill_value, std::optional<MemoryFormat> format,
                 const TensorOptions& options) {
  Tensor out = empty_like(self, format, options);
  ops::fill_(out, fill_value);
  return unwritten(out);
}
Tensor rand_like(const Tensor& self, Generator* generator, std::optional<MemoryFormat> format,
                 const TensorOptions& options) {
  Tensor out = empty_like(self, format, options);
  ops::uniform_(out, 0, 1, generator);
  return unwritten(out);
}
Tensor randn_like(const Tensor& self, Generator* generator, std::optional<MemoryFormat> format,
                  const TensorOptions& options) {
  Tensor out = empty_like(self, format, options);
  ops::normal_(out, 0, 1, generator);
  return unwritten(out);
}
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, Generator* generator,
                    std::optional<MemoryFormat> format, const TensorOptions& options) {
  Tensor out = empty_like(self, format, options);
  ops::random_(out, low, high, generator);
  return unwritten(out);
}
Tensor randint_like(const Tensor& self, int64_t high, Generator* generator,
                    std::optional<MemoryFormat> format, const TensorOptions& options) {
  return randint_like(self, 0, high, generator, format, options);
}

Tensor new_empty(const Tensor& self, IntList size, const TensorOptions& options) {
  return empty(size, std::nullopt, like(self, options));
}
Tensor new_empty_strided(const Tensor& self, IntList size, IntList stride, const TensorOptions& options) {
  return empty_strided(size, stride, like(self, options));
}
Tensor new_zeros(const Tensor& self, IntList size, const TensorOptions& options) {
  return zeros(size, like(self, options));
}
Tensor new_ones(const Tensor& self, IntList size, const TensorOptions& options) {
  return ones(size, like(self, options));
}
Tensor new_full(const Tensor& self, IntList size, const Scalar& fill_value, const TensorOptions& options) {
  return full(size, fill_value, like(self, options));
}

}  // namespace mt::composites
