#include "kernels/reduce/norms.h"

#include <cmath>

#include "kernels/common/copy.h"
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

void log_sum_exp(const View& in, const View& out) {
  if (in.numel() == 0) return fill(out, Scalar(-INFINITY));
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

}  // namespace mt::kernels
