#include "kernels/attention/rotary.h"

#include "kernels/common/accumulate.h"
#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"

namespace mt::kernels {
namespace {

// Result i is x[straight[i]] * cos[i] + sign[i] * x[turned[i]] * sin[i].
struct Pairs {
  std::vector<int64_t> straight, turned;
  std::vector<int> sign;

  Pairs(Rotation rotation, int64_t width) {
    for (int64_t i = 0; i < width; ++i) {
      int64_t from = i, partner = 0;
      bool first = false;
      switch (rotation) {
        case Rotation::half:
        case Rotation::quarter: {
          const int64_t block = rotation == Rotation::half ? width : width / 2, half = block / 2;
          first = i % block < half;
          partner = first ? i + half : i - half;
          break;
        }
        case Rotation::neighbours:
          first = i % 2 == 0;
          partner = first ? i + 1 : i - 1;
          break;
        case Rotation::neighbours_to_halves:
          first = i < width / 2;
          from = first ? 2 * i : 2 * (i - width / 2) + 1;
          partner = first ? from + 1 : from - 1;
          break;
      }
      straight.push_back(from);
      turned.push_back(partner);
      sign.push_back(first ? -1 : 1);
    }
  }
};

}  // namespace

void rotary(const View& x, const View& cos, const View& sin, Rotation rotation, const View& out) {
  const int64_t width = x.sizes[x.ndim - 1];
  const Pairs pairs(rotation, width);
  with_compute_type(x.dtype, "rotary", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> c(Broadcast(cos, x).view()), s(Broadcast(sin, x).view());
    const Temporary own({x.sizes, x.sizes + x.ndim}, dtype_of<C>);
    copy(x, own.view());  // the result may be the operand itself
    const C* from = own.view().template as<C>();
    const DenseOutput<C> y(out);
    const int64_t rows = width ? c.numel() / width : 0;
    parallel_for(0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(width, 1)),
                 [&](int64_t first, int64_t last) {
                   for (int64_t r = first; r < last; ++r) {
                     const C* row = from + r * width;
                     for (size_t i = 0; i < size_t(width); ++i) {
                       const int64_t at = r * width + int64_t(i);
                       y[at] =
                           row[pairs.straight[i]] * c[at] + C(pairs.sign[i]) * row[pairs.turned[i]] * s[at];
                     }
                   }
                 });
    y.store();
  });
}

void rotary_backward(const View& grad, const View& cos, const View& sin, const View* x, Rotation rotation,
                     const View& grad_x, const View* grad_cos, const View* grad_sin) {
  const int64_t width = grad.sizes[grad.ndim - 1];
  const Pairs pairs(rotation, width);
  with_compute_type(grad.dtype, "rotary_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> dy(grad), c(Broadcast(cos, grad).view()), s(Broadcast(sin, grad).view()),
        values(x ? *x : grad);
    const DenseOutput<C> dx(grad_x);
    const int64_t rows = width ? dy.numel() / width : 0;
    const std::vector<int64_t> sizes(grad.sizes, grad.sizes + grad.ndim);
    const Temporary to_cos(sizes, dtype_of<C>), to_sin(sizes, dtype_of<C>);
    C *dc = to_cos.view().template as<C>(), *ds = to_sin.view().template as<C>();
    dx.fill(0);
    for (int64_t r = 0; r < rows; ++r) {
      C* to = dx.data() + r * width;
      const C* row = values.data() + r * width;
      for (size_t i = 0; i < size_t(width); ++i) {
        const int64_t at = r * width + int64_t(i);
        to[pairs.straight[i]] += dy[at] * c[at];
        to[pairs.turned[i]] += C(pairs.sign[i]) * dy[at] * s[at];
        dc[at] = dy[at] * row[pairs.straight[i]];
        ds[at] = dy[at] * C(pairs.sign[i]) * row[pairs.turned[i]];
      }
    }
    dx.store();
    for (const auto& [all, result] : {std::pair{&to_cos, grad_cos}, std::pair{&to_sin, grad_sin}}) {
      if (!result) continue;
      const Dense sums(*result, dtype_of<C>, Access::write);
      fill(sums.view(), 0.0);
      add_into(all->view(), Broadcast(sums.view(), all->view()).view(), true);
      sums.store();
    }
  });
}

}  // namespace mt::kernels
