#include <cmath>

#include "kernels/common/dense.h"
#include "kernels/common/rows.h"
#include "kernels/loss/nll.h"

namespace mt::kernels {
namespace {

// The weight of every class of every sample in the loss, which is the negative sum of weight * log-probability.
struct Shares {
  int64_t samples, classes;
  std::vector<double> weights;
  std::vector<int64_t> named;
  double smoothing, total = 0;  // total: of the targets' weights

  Shares(const View& log_probs, const SmoothedTargets& t, Reduction reduction)
      : samples(log_probs.sizes[0]),
        classes(log_probs.sizes[1]),
        weights(numbers_or(t.weight, log_probs.sizes[1], 1)),
        smoothing(t.smoothing) {
    const DenseInput<int64_t> targets(t.classes);
    for (int64_t n = 0; n < samples; ++n) {
      const int64_t target = targets[n];
      named.push_back(target == t.ignore_index ? -1 : target);
      if (target == t.ignore_index) continue;
      MT_CHECK_AS(index, target >= 0 && target < classes, "Target ", target, " is out of bounds.");
      total += weights[size_t(target)];
    }
    if (reduction != Reduction::mean) total = 1;
  }
  bool counts(int64_t n) const { return named[size_t(n)] >= 0; }
  double of(int64_t n, int64_t c) const {
    const double even = smoothing / double(classes) * weights[size_t(c)];
    return c == named[size_t(n)] ? (1 - smoothing) * weights[size_t(c)] + even : even;
  }
};

}  // namespace

void smoothed_nll_loss(const View& log_probs, const SmoothedTargets& targets, Reduction reduction,
                       const View& out) {
  const Shares shares(log_probs, targets, reduction);
  const DenseInput<double> log_p(log_probs);
  const DenseOutput<double> y(out);
  double sum = 0;
  for (int64_t n = 0; n < shares.samples; ++n) {
    double loss = 0;
    for (int64_t c = 0; shares.counts(n) && c < shares.classes; ++c) {
      const double share = shares.of(n, c);
      if (share != 0) loss -= share * log_p[n * shares.classes + c];
    }
    if (reduction == Reduction::none) y[n] = loss;
    sum += loss;
  }
  if (reduction != Reduction::none) y[0] = sum / shares.total;
  y.store();
}

void smoothed_nll_loss_backward(const View& grad, const View& log_probs, const SmoothedTargets& targets,
                                Reduction reduction, const View& grad_scores) {
  const Shares shares(log_probs, targets, reduction);
  const DenseInput<double> dy(grad), log_p(log_probs);
  const DenseOutput<double> dx(grad_scores);
  for (int64_t n = 0; n < shares.samples; ++n) {
    const double factor = shares.counts(n) ? dy[reduction == Reduction::none ? n : 0] / shares.total : 0;
    double sum = 0;
    for (int64_t c = 0; c < shares.classes; ++c) sum += shares.of(n, c);
    for (int64_t c = 0; c < shares.classes; ++c) {
      const int64_t at = n * shares.classes + c;
      dx[at] = shares.counts(n) ? factor * (sum * std::exp(log_p[at]) - shares.of(n, c)) : 0;
    }
  }
  dx.store();
}

}  // namespace mt::kernels
