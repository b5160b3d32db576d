#include "kernels/loss/pointwise.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"

namespace mt::kernels {
namespace {

constexpr const char* kName = "pointwise_loss";

// log(1 + exp(x)) without overflow.
template <class C>
C log1p_exp(C x) {
  return std::max(x, C(0)) + std::log1p(std::exp(-std::fabs(x)));
}
template <class C>
C sigmoid(C x) {
  return C(1) / (C(1) + std::exp(-x));
}

template <class C>
C value_of(PointwiseLoss kind, C x, C t, C pos, C beta) {
  const C gap = x - t;
  switch (kind) {
    case PointwiseLoss::square: return gap * gap;
    case PointwiseLoss::absolute: return std::fabs(gap);
    case PointwiseLoss::smooth_absolute:
      return std::fabs(gap) < beta ? C(0.5) * gap * gap / beta : std::fabs(gap) - C(0.5) * beta;
    case PointwiseLoss::huber:
      return std::fabs(gap) <= beta ? C(0.5) * gap * gap : beta * (std::fabs(gap) - C(0.5) * beta);
    case PointwiseLoss::cross_entropy:
      return (t - 1) * std::max(std::log1p(-x), C(-100)) - t * std::max(std::log(x), C(-100));
    case PointwiseLoss::logit_entropy: return (C(1) - t) * x + (C(1) + (pos - C(1)) * t) * log1p_exp(-x);
    case PointwiseLoss::divergence: return t > C(0) ? t * (std::log(t) - x) : t == C(0) ? C(0) : t;
    case PointwiseLoss::log_divergence: return std::exp(t) * (t - x);
    case PointwiseLoss::soft_margin: return log1p_exp(-t * x);
    case PointwiseLoss::hinge_embedding:
      return (t != C(-1) ? C(0) : std::max(C(0), beta - x)) + (t != C(1) ? C(0) : x);
    case PointwiseLoss::hinge: return std::max(C(0), C(1) - x * t);
  }
  fail(ErrorKind::runtime, "unknown loss");
}

template <class C>
C slope_of(PointwiseLoss kind, C x, C t, C pos, C beta) {
  const C gap = x - t, sign = gap > C(0) ? C(1) : gap < C(0) ? C(-1) : C(0);
  switch (kind) {
    case PointwiseLoss::square: return C(2) * gap;
    case PointwiseLoss::absolute: return sign;
    case PointwiseLoss::smooth_absolute: return std::fabs(gap) < beta ? gap / beta : sign;
    case PointwiseLoss::huber: return std::fabs(gap) <= beta ? gap : beta * sign;
    case PointwiseLoss::cross_entropy: return (x - t) / std::max((C(1) - x) * x, C(1e-12));
    case PointwiseLoss::logit_entropy: return (C(1) - t) - (C(1) + (pos - C(1)) * t) * sigmoid(-x);
    case PointwiseLoss::divergence: return t > C(0) ? -t : C(0);
    case PointwiseLoss::log_divergence: return -std::exp(t);
    case PointwiseLoss::soft_margin: return -t * sigmoid(-t * x);
    case PointwiseLoss::hinge_embedding:
      return (t != C(-1) || beta - x < C(0) ? C(0) : C(-1)) + (t != C(1) ? C(0) : C(1));
    case PointwiseLoss::hinge: return C(1) - x * t > C(0) ? -t : C(0);
  }
  fail(ErrorKind::runtime, "unknown loss");
}

template <class C>
C target_slope_of(PointwiseLoss kind, C x, C t, C pos) {
  switch (kind) {
    case PointwiseLoss::logit_entropy: return (pos - C(1)) * log1p_exp(-x) - x;
    case PointwiseLoss::divergence: return t > C(0) ? std::log(t) + C(1) - x : C(0);
    case PointwiseLoss::log_divergence: return std::exp(t) * (t + C(1) - x);
    default: fail(ErrorKind::runtime, "this loss has no gradient in its target");
  }
}

// The operands as arrays of C, all with the elements of the first.
template <class C>
struct Operands {
  DenseInput<C> in, target, weight, pos_weight;
  LossOptions options;

  static const View& or_in(const View* view, const View& in) { return view ? *view : in; }
  Operands(const View& x, const View& t, const LossOptions& o)
      : in(x),
        target(Broadcast(t, x).view()),
        weight(Broadcast(or_in(o.weight, x), x).view()),
        pos_weight(Broadcast(or_in(o.pos_weight, x), x).view()),
        options(o) {}
  C weight_at(int64_t i) const { return options.weight ? weight[i] : C(1); }
  C pos_at(int64_t i) const { return options.pos_weight ? pos_weight[i] : C(1); }
};

template <class Slope>
void backward(const View& grad, const View& in, const View& target, const LossOptions& options,
              Reduction reduction, const View& grad_in, const Slope& slope) {
  with_compute_type(in.dtype, kName, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Operands<C> o(in, target, options);
    const DenseInput<C> dy(Broadcast(grad, in).view());
    const DenseOutput<C> dx(grad_in);
    const C share = reduction == Reduction::mean ? C(1) / C(o.in.numel()) : C(1);
    parallel_for(0, o.in.numel(), kGrain / 8, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) dx[i] = slope(o, i) * o.weight_at(i) * dy[i] * share;
    });
    dx.store();
  });
}

}  // namespace

void pointwise_loss(const View& in, const View& target, const LossOptions& options, Reduction reduction,
                    const View& out) {
  with_compute_type(in.dtype, kName, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Operands<C> o(in, target, options);
    const auto at = [&](int64_t i) {
      return value_of<C>(options.kind, o.in[i], o.target[i], o.pos_at(i), C(options.beta)) * o.weight_at(i);
    };
    const DenseOutput<C> y(out);
    if (reduction == Reduction::none) {
      parallel_for(0, o.in.numel(), kGrain / 8, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) y[i] = at(i);
      });
    } else {
      double sum = 0;
      for (int64_t i = 0; i < o.in.numel(); ++i) sum += double(at(i));
      y[0] = C(reduction == Reduction::mean ? sum / double(o.in.numel()) : sum);
    }
    y.store();
  });
}

void pointwise_loss_backward(const View& grad, const View& in, const View& target, const LossOptions& options,
                             Reduction reduction, const View& grad_in) {
  backward(grad, in, target, options, reduction, grad_in, [&](const auto& o, int64_t i) {
    using C = std::remove_cvref_t<decltype(o.in[i])>;
    return slope_of<C>(options.kind, o.in[i], o.target[i], o.pos_at(i), C(options.beta));
  });
}

void pointwise_loss_target_backward(const View& grad, const View& in, const View& target,
                                    const LossOptions& options, Reduction reduction,
                                    const View& grad_target) {
  backward(grad, in, target, options, reduction, grad_target, [&](const auto& o, int64_t i) {
    using C = std::remove_cvref_t<decltype(o.in[i])>;
    return target_slope_of<C>(options.kind, o.in[i], o.target[i], o.pos_at(i));
  });
}

void multilabel_margin_loss(const View& in, const View& target, Reduction reduction, const View& out,
                            const View& is_target) {
  const int64_t classes = in.ndim ? in.sizes[in.ndim - 1] : 1, samples = classes ? in.numel() / classes : 0;
  const DenseInput<double> x(in);
  const DenseInput<int64_t> named(target);
  const DenseOutput<double> y(out);
  const DenseOutput<bool> marks(is_target);
  marks.fill(false);
  double total = 0;
  for (int64_t n = 0; n < samples; ++n) {
    const int64_t at = n * classes;
    int64_t count = 0;
    for (; count < classes && named[at + count] >= 0; ++count) {
      const int64_t label = named[at + count];
      MT_CHECK_AS(index, label < classes, "multilabel_margin_loss: target ", label, " is out of bounds for ",
                  classes, " classes");
      marks[at + label] = true;
    }
    double sum = 0;
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t c = 0; c < classes; ++c)
        if (!marks[at + c]) sum += std::max(0.0, 1 - (x[at + named[at + k]] - x[at + c]));
    }
    sum /= double(classes);
    if (reduction == Reduction::none) y[n] = sum;
    total += sum;
  }
  if (reduction != Reduction::none) y[0] = reduction == Reduction::mean ? total / double(samples) : total;
  y.store();
  marks.store();
}

}  // namespace mt::kernels
