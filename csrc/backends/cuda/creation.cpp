#include "generated/cuda/creation.h"

#include "backends/cuda/dense.h"
#include "backends/cuda/program.h"
#include "core/reach.h"
#include "core/views.h"

namespace mt::cuda {
namespace {

constexpr Family kCounts{"copy.h", "CountCall"}, kTriangles{"copy.h", "TriangleIndicesCall"};

void count(const char* name, const char* kernel, Variants& variants, CountCall call, const Tensor& out) {
  MT_CHECK(out.dim() == 1, name, ": the result must have one dimension, got ", out.dim());
  check_reach(out);
  call.out = out.data();
  call.count = out.numel();
  call.stride = out.stride(0);
  run_over(kCounts, variants, uint64_t(out.dtype()), name, out, call.count, call,
           [&] { return join_text(kernel, "<", type_text(out.dtype()), ">"); });
}

// A number as an element of the dtype would have it, which is where numbers between are counted from.
double rounded(const Scalar& value, DType dtype) {
  if (dtype == DType::float16) return float(value.to<Half>());
  if (dtype == DType::bfloat16) return float(value.to<BFloat16>());
  return dtype == DType::float32 ? double(value.to<float>()) : value.to<double>();
}

}  // namespace

void arange(const Scalar& start, const Scalar&, const Scalar& step, const Tensor& out) {
  check_dtype(kernels::domains::real | kernels::domains::wide_unsigned, out.dtype(), "arange");
  CountCall call{};
  if (is_integral(out.dtype(), false)) {
    call.first = start.to<int64_t>();
    call.whole_step = step.to<int64_t>();
  } else {
    call.start = start.to<double>();
    call.step = step.to<double>();
  }
  static Variants variants;
  count("arange", "counted", variants, call, out);
}

void linspace(const Scalar& start, const Scalar& end, const Tensor& out) {
  check_dtype(kernels::domains::numeric, out.dtype(), "linspace");
  if (is_complex(out.dtype())) {  // both parts go their own way
    const Tensor parts = views::view_as_real(out);
    const complex128 first = start.to<complex128>(), last = end.to<complex128>();
    linspace(first.real(), last.real(), views::select(parts, -1, 0));
    return linspace(first.imag(), last.imag(), views::select(parts, -1, 1));
  }
  CountCall call{};
  if (is_integral(out.dtype(), false)) {
    call.first = start.to<int64_t>();
    call.last = end.to<int64_t>();
  } else {
    call.start = rounded(start, out.dtype());
    call.end = rounded(end, out.dtype());
  }
  static Variants variants;
  count("linspace", "spaced", variants, call, out);
}

void triangle_indices(int64_t row, int64_t col, int64_t offset, bool upper, const Tensor& out) {
  check_dtype(kernels::dtype_set(DType::int64, DType::int32), out.dtype(), "tril_indices");
  into_dense(out, [&](const Tensor& result) {
    TriangleIndicesCall call{};
    call.out = result.data();
    call.count = result.size(1);
    call.rows = row;
    call.columns = col;
    call.offset = offset;
    call.upper = upper;
    static Variants variants;
    run_over(kTriangles, variants, uint64_t(out.dtype()), upper ? "triu_indices" : "tril_indices", out,
             call.count, call, [&] { return join_text("triangle_places<", type_text(out.dtype()), ">"); });
  });
}

}  // namespace mt::cuda
