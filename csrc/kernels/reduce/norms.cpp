#include "kernels/reduce/norms.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/common/copy.h"
#include "kernels/common/parallel.h"
#include "kernels/common/temporary.h"
#include "kernels/complex/complex_parts.h"
#include "kernels/elementwise/elementwise_impl.h"
#include "kernels/elementwise/functors.h"
#include "kernels/reduce/reduce_impl.h"

namespace mt::kernels {

void vector_norm(const View& in, const View& out, double p) {
  if (p == 0) return reduce<norm_zero_op>(in, out);
  if (p == 1) return reduce<norm_one_op>(in, out);
  if (p == 2) return reduce<norm_two_op>(in, out);
  if (std::isinf(p)) return p > 0 ? reduce<norm_max_op>(in, out) : reduce<norm_min_op>(in, out);
  // Other orders are rare: the powers are made first, in double.
  const Temporary powers(in, DType::float64);
  if (is_complex(in.dtype)) {
    const Temporary magnitudes(in, DType::complex128);
    unary<abs_op>(in, magnitudes.view());
    copy(magnitudes.view(), powers.view());
  } else {
    unary<abs_op>(in, powers.view());
  }
  const Scalar power(p), inverse(1 / p);
  unary<pow_scalar_op>(powers.view(), powers.view(), &power);
  const Temporary total(out, DType::float64);
  reduce<sum_op>(powers.view(), total.view());
  unary<pow_scalar_op>(total.view(), total.view(), &inverse);
  copy(total.view(), out);
}

namespace {

// Of a tensor whose terms fit the cache, or that cannot be cut.
void log_sum_exp_of_part(const View& in, const View& out) {
  const bool half = out.dtype == DType::float16 || out.dtype == DType::bfloat16;
  const DType wide = half ? DType::float32 : out.dtype == DType::complex32 ? DType::complex64 : out.dtype;
  const Temporary terms(in, wide);
  // The largest (real part) is taken out; an infinite one stays in.
  std::vector<int64_t> strides;
  if (is_complex(wide)) copy(in, terms.view());
  const View values = is_complex(wide) ? terms.view() : in;
  const View real = is_complex(wide) ? part_of(values, 0, strides) : in;
  const Temporary top(out, is_complex(wide) ? real.dtype : wide);
  reduce<amax_op>(real, top.view());
  const auto keep_finite = [&](auto* tops) {
    for (int64_t i = 0; i < top.view().dense; ++i)
      if (std::isinf(tops[i])) tops[i] = 0;
  };
  if (top.view().dtype == DType::float64) keep_finite(top.view().as<double>());
  else keep_finite(top.view().as<float>());
  const Temporary shift(out, wide), total(out, wide);
  copy(top.view(), shift.view());
  const Scalar one(1);
  binary<sub_op>(values, shift.view(), terms.view(), wide, &one);
  unary<exp_op>(terms.view(), terms.view());
  reduce<sum_op>(terms.view(), total.view());
  unary<log_op>(total.view(), total.view());
  binary<add_op>(total.view(), shift.view(), out, wide, &one);
}

// One dimension that is kept, and how much of it a part has.
struct Cut {
  int dim;
  int64_t step, count;  // count: parts
};

// Parts of about so many elements, by sizes only: results do not depend on threads.
std::vector<Cut> cuts_of(const View& in, const View& out) {
  constexpr int64_t kPart = 1 << 14;
  std::vector<int> kept;
  for (int d = 0; d < in.ndim; ++d)
    if (out.sizes[d] == in.sizes[d] && in.sizes[d] > 1) kept.push_back(d);
  std::stable_sort(kept.begin(), kept.end(), [&](int a, int b) { return in.strides[a] > in.strides[b]; });
  std::vector<Cut> cuts;
  int64_t rest = in.numel();
  for (const int d : kept) {
    if (rest <= kPart) break;
    rest /= in.sizes[d];
    const int64_t step = std::clamp<int64_t>(kPart / rest, 1, in.sizes[d]);
    cuts.push_back({d, step, (in.sizes[d] + step - 1) / step});
    rest *= step;
  }
  return cuts;
}

}  // namespace

void log_sum_exp(const View& in, const View& out) {
  if (in.numel() == 0) return fill(out, Scalar(-INFINITY));
  const std::vector<Cut> cuts = cuts_of(in, out);
  if (cuts.empty()) return log_sum_exp_of_part(in, out);
  int64_t parts = 1;
  for (const Cut& cut : cuts) parts *= cut.count;
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      std::vector<int64_t> sizes(in.sizes, in.sizes + in.ndim), kept(out.sizes, out.sizes + in.ndim);
      int64_t from = 0, to = 0, rest = part;
      for (const Cut& cut : cuts) {
        const int64_t first = rest % cut.count * cut.step;
        rest /= cut.count;
        sizes[size_t(cut.dim)] = kept[size_t(cut.dim)] = std::min(cut.step, in.sizes[cut.dim] - first);
        from += first * in.strides[cut.dim], to += first * out.strides[cut.dim];
      }
      log_sum_exp_of_part(
          {in.as<char>() + from * int64_t(itemsize(in.dtype)), sizes.data(), in.strides, in.ndim, in.dtype},
          {out.as<char>() + to * int64_t(itemsize(out.dtype)), kept.data(), out.strides, in.ndim, out.dtype});
    }
  };
  // Few large parts are shared out inside.
  if (parts < get_num_threads() && in.numel() / parts > 2 * kGrain) run(0, parts);
  else parallel_for(0, parts, 1, run);
}

}  // namespace mt::kernels
