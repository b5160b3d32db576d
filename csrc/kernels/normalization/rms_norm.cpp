#include <cmath>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"
#include "kernels/normalization/normalization.h"

namespace mt::kernels {
namespace {

std::vector<double> factors(const View* weight, double offset, int64_t length) {
  std::vector<double> result = numbers_or(weight, length, 1);
  for (double& factor : result) factor += offset;
  return result;
}

int64_t row_grain(int64_t length) { return std::max<int64_t>(1, kGrain / 2 / std::max<int64_t>(length, 1)); }

}  // namespace

void rms_norm(const View& in, const View* weight, double offset, const View& out, const View& rstd,
              int64_t rows, int64_t length, double eps) {
  with_compute_type(in.dtype, "rms_norm", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const std::vector<double> wide = factors(weight, offset, length);
    const std::vector<C> w(wide.begin(), wide.end());
    const RowReader<C> x(in);
    const RowWriter<C> y(out), roots(rstd);
    parallel_for(0, rows, row_grain(length), [&](int64_t first, int64_t last) {
      Scratch<C> in_row(x.direct ? 0 : length), out_row(y.direct ? 0 : length);
      for (int64_t row = first; row < last; ++row) {
        const C* from = x.at(row * length, length, in_row.data());
        C* to = y.at(row * length, out_row.data());
        const double squares = sum_of<C>(length, [=](int64_t i) { return from[i] * from[i]; });
        const double scale = 1 / std::sqrt(squares / double(length) + eps);
        for (int64_t i = 0; i < length; ++i) to[i] = from[i] * C(scale) * w[size_t(i)];
        y.done(row * length, length, to);
        roots.put(row, scale);
      }
    });
  });
}

void rms_norm_backward(const View& grad, const View& in, const View& rstd, const View* weight, double offset,
                       const View* grad_in, const View* grad_weight, int64_t rows, int64_t length) {
  with_compute_type(in.dtype, "rms_norm_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const std::vector<double> w = factors(weight, offset, length), roots = numbers(rstd);
    const RowReader<C> g(grad), x(in);
    const RowWriter<C> y(grad_in ? *grad_in : in);
    std::vector<double> to_weight(size_t(grad_weight ? length : 0));
    std::vector<C> grad_row(static_cast<size_t>(length)), in_row(static_cast<size_t>(length)),
        out_row(static_cast<size_t>(length));
    for (int64_t row = 0; row < rows; ++row) {
      const C* dy = g.at(row * length, length, grad_row.data());
      const C* from = x.at(row * length, length, in_row.data());
      const double scale = roots[size_t(row)];
      if (grad_weight)
        for (int64_t i = 0; i < length; ++i) to_weight[size_t(i)] += double(dy[i]) * double(from[i]) * scale;
      if (!grad_in) continue;
      double slope = 0;
      for (int64_t i = 0; i < length; ++i) slope += double(dy[i]) * w[size_t(i)] * double(from[i]);
      slope *= scale * scale * scale / double(length);
      C* to = y.at(row * length, out_row.data());
      for (int64_t i = 0; i < length; ++i)
        to[i] = C(double(dy[i]) * w[size_t(i)] * scale - double(from[i]) * slope);
      y.done(row * length, length, to);
    }
    put_numbers(to_weight, grad_weight);
  });
}

}  // namespace mt::kernels
