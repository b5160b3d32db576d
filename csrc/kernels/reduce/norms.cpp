#include "kernels/reduce/norms.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "kernels/common/copy.h"
#include "kernels/common/parallel.h"
#include "kernels/common/temporary.h"
#include "kernels/complex/complex_parts.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/reduce/reduce_impl.h"
#include "kernels/softmax/softmax.h"

namespace mt::kernels {

extern template void reduce<amax_op>(const View&, const View&);  // rows of the table have them
extern template void reduce<amin_op>(const View&, const View&);
extern template void reduce<sum_op>(const View&, const View&);

namespace {

// What a norm is of: powers of magnitudes or, without one, magnitudes, and how they become one.
struct Terms {
  const Scalar* power;
  DType dtype;
  void (*fold)(const View& terms, const View& out);
};

// The terms are made of a few elements at a time, and stay in a cache. Where the cuts are depends on sizes only, so that
// results do not depend on threads.
void fold_terms(const View& in, const View& out, const Terms& terms) {
  constexpr int64_t together = 16384;
  const int64_t numel = in.numel();
  int outer = -1;
  for (int d = 0; d < in.ndim; ++d)
    if (in.sizes[d] > 1 && (outer < 0 || std::llabs(in.strides[d]) > std::llabs(in.strides[outer])))
      outer = d;
  if (numel <= together || outer < 0) {
    const Temporary made(in, terms.dtype);
    if (is_complex(in.dtype)) {
      const Temporary magnitudes(in, DType::complex128);
      unary<abs_op>(in, magnitudes.view());
      copy(magnitudes.view(), made.view());
    } else {
      unary<abs_op>(in, made.view());
    }
    if (terms.power) unary<pow_scalar_op>(made.view(), made.view(), terms.power);
    return terms.fold(made.view(), out);
  }
  const int64_t size = in.sizes[outer], each = std::max<int64_t>(1, together / (numel / size));
  const int64_t parts = (size + each - 1) / each;
  const bool kept = out.sizes[outer] == size;
  std::vector<int64_t> sizes(out.sizes, out.sizes + out.ndim);
  sizes[size_t(outer)] = kept ? size : parts;
  std::optional<Temporary> partial;
  const View& target = kept ? out : partial.emplace(sizes, terms.dtype).view();
  const auto part_of = [outer](const View& view, const std::vector<int64_t>& shape, int64_t from) {
    char* data = view.as<char>() + from * view.strides[outer] * int64_t(itemsize(view.dtype));
    return View{data, shape.data(), view.strides, view.ndim, view.dtype};
  };
  parallel_for(0, parts, 2, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> from(in.sizes, in.sizes + in.ndim), to = sizes;
    for (int64_t part = begin; part < end; ++part) {
      from[size_t(outer)] = std::min(each, size - part * each);
      to[size_t(outer)] = kept ? from[size_t(outer)] : 1;
      fold_terms(part_of(in, from, part * each), part_of(target, to, kept ? part * each : part), terms);
    }
  });
  if (!kept) terms.fold(target, out);
}

}  // namespace

void vector_norm(const View& in, const View& out, double p) {
  if (p == 0) return reduce<norm_zero_op>(in, out);
  if (p == 1) return reduce<norm_one_op>(in, out);
  if (p == 2) return reduce<norm_two_op>(in, out);
  if (std::isinf(p)) {
    const bool single = out.dtype != DType::float64 && !is_complex(in.dtype) && in.dtype != DType::float64;
    const DType dtype = single ? DType::float32 : DType::float64;
    if (p > 0 && in.numel() == 0) return fill(out, Scalar(0.0));  // the largest of none
    return fold_terms(in, out, {nullptr, dtype, p > 0 ? reduce<amax_op> : reduce<amin_op>});
  }
  // Powers are made in double.
  const Scalar power(p), inverse(1 / p);
  const Temporary total(out, DType::float64);
  fold_terms(in, total.view(), {&power, DType::float64, reduce<sum_op>});
  unary<pow_scalar_op>(total.view(), total.view(), &inverse);
  copy(total.view(), out);
}

namespace {

// The largest real part is taken out; an infinite one stays in.
void log_sum_exp_of_complex(const View& in, const View& out) {
  const DType wide = out.dtype == DType::complex32 ? DType::complex64 : out.dtype;
  const Temporary terms(in, wide);
  copy(in, terms.view());
  std::vector<int64_t> strides;
  const View real = part_of(terms.view(), 0, strides);
  const Temporary top(out, real.dtype), shift(out, wide), total(out, wide);
  reduce<amax_op>(real, top.view());
  const auto keep_finite = [&](auto* tops) {
    for (int64_t i = 0; i < top.view().dense; ++i)
      if (std::isinf(tops[i])) tops[i] = 0;
  };
  if (top.view().dtype == DType::float64) keep_finite(top.view().as<double>());
  else keep_finite(top.view().as<float>());
  copy(top.view(), shift.view());
  const Scalar one(1);
  binary<sub_op>(terms.view(), shift.view(), terms.view(), wide, &one);
  unary<exp_op>(terms.view(), terms.view());
  reduce<sum_op>(terms.view(), total.view());
  unary<log_op>(total.view(), total.view());
  binary<add_op>(total.view(), shift.view(), out, wide, &one);
}

// Few long lines are cut into pieces, by sizes only: results do not depend on threads.
void log_sum_exp_in_pieces(const View& in, const View& out, int dim, DType wide) {
  const int64_t size = in.sizes[dim], few = 64;
  const int64_t pieces = std::min({in.numel() / kGrain, size / 512, few});
  if (pieces < 2 || in.numel() / size >= few) return log_sum_exp_along(in, out, dim);
  std::vector<int64_t> sizes(out.sizes, out.sizes + out.ndim);
  sizes[size_t(dim)] = pieces;
  const Temporary sums(sizes, wide);
  const int64_t step = (size + pieces - 1) / pieces;
  const auto bytes = [dim](const View& view, int64_t from) {
    return view.as<char>() + from * view.strides[dim] * int64_t(itemsize(view.dtype));
  };
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      std::vector<int64_t> part(in.sizes, in.sizes + in.ndim);
      const int64_t from = std::min(piece * step, size);
      part[size_t(dim)] = std::min(step, size - from);
      log_sum_exp_along({bytes(in, from), part.data(), in.strides, in.ndim, in.dtype},
                        {bytes(sums.view(), piece), out.sizes, sums.view().strides, out.ndim, wide}, dim);
    }
  });
  log_sum_exp_along(sums.view(), out, dim);
}

}  // namespace

// One dimension after the other, the nearest in memory first.
void log_sum_exp(const View& in, const View& out) {
  if (in.numel() == 0) return fill(out, Scalar(-INFINITY));
  if (is_complex(out.dtype)) return log_sum_exp_of_complex(in, out);
  std::vector<int> dims;
  for (int d = 0; d < in.ndim; ++d)
    if (out.sizes[d] != in.sizes[d]) dims.push_back(d);
  if (dims.empty()) return copy(in, out);
  // Two that follow one another in memory are one.
  for (size_t i = 1; i < dims.size(); ++i) {
    const int first = dims[i - 1], second = dims[i];
    if (second != first + 1 || in.strides[first] != in.strides[second] * in.sizes[second]) continue;
    std::vector<int64_t> sizes(in.sizes, in.sizes + in.ndim), strides(in.strides, in.strides + in.ndim);
    sizes[size_t(second)] *= sizes[size_t(first)];
    sizes[size_t(first)] = 1;
    return log_sum_exp({in.data, sizes.data(), strides.data(), in.ndim, in.dtype}, out);
  }
  const int dim = *std::min_element(dims.begin(), dims.end(), [&](int a, int b) {
    return std::llabs(in.strides[a]) < std::llabs(in.strides[b]);
  });
  const bool half = out.dtype == DType::float16 || out.dtype == DType::bfloat16;
  const DType wide = half ? DType::float32 : out.dtype;
  if (dims.size() == 1) return log_sum_exp_in_pieces(in, out, dim, wide);
  std::vector<int64_t> sizes(in.sizes, in.sizes + in.ndim);
  sizes[size_t(dim)] = 1;
  const Temporary sums(sizes, wide);
  log_sum_exp_in_pieces(in, sums.view(), dim, wide);
  log_sum_exp(sums.view(), out);
}

}  // namespace mt::kernels
