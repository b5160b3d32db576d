#include <cmath>

#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"
#include "kernels/normalization/normalization.h"
#include "kernels/normalization/rows.h"

namespace mt::kernels {
namespace {

// Pieces of rows with sums of their own; their number depends on sizes only, so that results do not depend on the
// number of threads.
int64_t pieces_for(int64_t rows, int64_t length) {
  return std::clamp<int64_t>(rows * length / kGrain, 1, std::clamp<int64_t>(rows / 16, 1, 32));
}

template <class C>
void add_pieces(const std::vector<C>& sums, int64_t pieces, int64_t length, const RowWriter<C>& out) {
  std::vector<C> result(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    double total = 0;
    for (int64_t p = 0; p < pieces; ++p) total += double(sums[size_t(p * length + i)]);
    result[size_t(i)] = C(total);
  }
  out.store(reinterpret_cast<const char*>(result.data()), sizeof(C), out.data, out.item, length);
}

}  // namespace

void layer_norm(const View& in, const View* weight, const View* bias, const View& out, const View& mean,
                const View& rstd, int64_t rows, int64_t length, double eps) {
  with_compute_type(in.dtype, "LayerNormKernelImpl", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const WholeParameter<C> w(weight, length), b(bias, length);
    const RowReader<C> x(in);
    const RowWriter<C> y(out), means(mean), rstds(rstd);
    const auto moments = NormRows<C>::moments[cpu_level];
    const auto standardize = NormRows<C>::standardize[cpu_level];
    const int64_t grain = std::max<int64_t>(1, kGrain / 2 / std::max<int64_t>(length, 1));
    parallel_for(0, rows, grain, [&](int64_t first, int64_t last) {
      Scratch<C> in_row(x.direct ? 0 : length), out_row(y.direct ? 0 : length);
      for (int64_t row = first; row < last; ++row) {
        const C* source = x.at(row * length, length, in_row.data());
        double center = 0, variance = std::nan("");
        if (length) moments(source, length, &center, &variance);
        const double scale = 1 / std::sqrt(variance + eps);
        C* target = y.at(row * length, out_row.data());
        standardize(source, w.data, b.data, target, length, C(center), C(scale));
        y.done(row * length, length, target);
        means.put(row, center);
        rstds.put(row, scale);
      }
    });
  });
}

void layer_norm_backward(const View& grad, const View& in, const View& mean, const View& rstd,
                         const View* weight, const View* grad_in, const View* grad_weight,
                         const View* grad_bias, int64_t rows, int64_t length) {
  with_compute_type(in.dtype, "LayerNormBackwardKernelImpl", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const WholeParameter<C> w(weight, length), centers(&mean, rows), scales(&rstd, rows);
    const RowReader<C> g(grad), x(in);
    const RowWriter<C> y(grad_in ? *grad_in : in);
    const auto backward = NormRows<C>::backward[cpu_level];
    const int64_t pieces = pieces_for(rows, length), step = (rows + pieces - 1) / pieces;
    std::vector<C> to_weight(size_t(grad_weight ? pieces * length : 0));
    std::vector<C> to_bias(size_t(grad_bias ? pieces * length : 0));
    parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
      Scratch<C> grad_row(g.direct ? 0 : length), in_row(x.direct ? 0 : length);
      Scratch<C> out_row(y.direct ? 0 : length), weighted(length);
      for (int64_t piece = first; piece < last; ++piece) {
        C* dw = grad_weight ? to_weight.data() + piece * length : nullptr;
        C* db = grad_bias ? to_bias.data() + piece * length : nullptr;
        for (int64_t row = piece * step; row < std::min(rows, (piece + 1) * step); ++row) {
          const int64_t at = row * length;
          C* target = grad_in ? y.at(at, out_row.data()) : nullptr;
          backward(g.at(at, length, grad_row.data()), x.at(at, length, in_row.data()), w.data,
                   weighted.data(), target, dw, db, length, centers.data[row], scales.data[row]);
          if (target) y.done(at, length, target);
        }
      }
    });
    if (grad_weight) add_pieces(to_weight, pieces, length, RowWriter<C>(*grad_weight));
    if (grad_bias) add_pieces(to_bias, pieces, length, RowWriter<C>(*grad_bias));
  });
}

}  // namespace mt::kernels
