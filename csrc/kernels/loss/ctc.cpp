#include "kernels/loss/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/common/copy.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/loss/ctc_sample.h"

namespace mt::kernels {
namespace {

constexpr DTypeSet kDomain = dtype_set(DType::float32, DType::float64);

template <class T>
CtcSample<T> sample_of(const CtcProblem& p, int64_t n) {
  const View &lp = p.log_probs, &t = p.targets;
  const int64_t length = p.target_lengths[n], label_stride = t.strides[t.ndim - 1];
  int64_t before = n * (t.ndim == 2 ? t.strides[0] : 0);
  if (t.ndim == 1)
    for (int64_t i = 0; i < n; ++i) before += p.target_lengths[i] * label_stride;
  const CtcSample<T> made{p.input_lengths[n], 2 * length + 1, lp.as<T>() + n * lp.strides[1],
                          lp.strides[0],      lp.strides[2],  t.as<int64_t>() + before,
                          label_stride,       p.blank};
  for (int64_t i = 0; i < length; ++i)
    MT_CHECK_AS(index, made.label(2 * i + 1) >= 0 && made.label(2 * i + 1) < lp.sizes[2], "ctc_loss: target ",
                made.label(2 * i + 1), " is out of bounds for ", lp.sizes[2], " classes");
  return made;
}

}  // namespace

void ctc_loss(const CtcProblem& problem, const View& loss, const View& log_alpha) {
  const int64_t batch = problem.log_probs.sizes[1], row = log_alpha.sizes[2];
  const int64_t plane = log_alpha.sizes[1] * row;
  dispatch<kDomain>(loss.dtype, "ctc_loss", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T nothing = -std::numeric_limits<T>::infinity();
    std::fill_n(log_alpha.as<T>(), batch * plane, nothing);
    parallel_for(0, batch, std::max<int64_t>(1, kGrain / (8 * plane)), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const CtcSample<T> sample = sample_of<T>(problem, n);
        T* alpha = log_alpha.as<T>() + n * plane;
        T& result = loss.as<T>()[n * loss.strides[0]];
        if (sample.steps > 0) {
          alpha[0] = sample.prob(0, 0);
          if (sample.states > 1) alpha[1] = sample.prob(0, 1);
        }
        for (int64_t t = 1; t < sample.steps; ++t)
          for (int64_t s = 0; s < sample.states; ++s)
            alpha[t * row + s] = sample.forward(alpha + (t - 1) * row, t, s);
        result = sample.loss(alpha, row);
        if (problem.zero_infinity && std::isinf(result)) result = 0;
      }
    });
  });
}

void ctc_loss_backward(const CtcProblem& problem, const View& grad, const View& log_alpha, const View& out) {
  const int64_t batch = problem.log_probs.sizes[1], classes = problem.log_probs.sizes[2];
  const int64_t row = log_alpha.sizes[2], plane = log_alpha.sizes[1] * row;
  fill(out, Scalar(0.0));
  dispatch<kDomain>(out.dtype, "ctc_loss_backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T nothing = -std::numeric_limits<T>::infinity();
    parallel_for(0, batch, std::max<int64_t>(1, kGrain / (8 * plane)), [&](int64_t begin, int64_t end) {
      std::vector<T> beta(size_t(row), nothing), next(size_t(row), nothing), sums(size_t(classes), nothing);
      for (int64_t n = begin; n < end; ++n) {
        const CtcSample<T> sample = sample_of<T>(problem, n);
        const T* alpha = log_alpha.as<T>() + n * plane;
        // The loss as it was before an infinite one was replaced.
        const T nll = sample.loss(alpha, row);
        if (problem.zero_infinity && std::isinf(nll)) continue;
        const T scale = grad.as<T>()[n * grad.strides[0]];
        for (int64_t t = sample.steps - 1; t >= 0; --t) {
          const T* behind = t == sample.steps - 1 ? nullptr : next.data();
          for (int64_t s = 0; s < sample.states; ++s) beta[size_t(s)] = sample.backward(behind, t, s);
          std::fill(sums.begin(), sums.end(), nothing);
          for (int64_t s = 0; s < sample.states; ++s) {
            T& sum = sums[size_t(sample.label(s))];
            sum = log_of_sum(sum, alpha[t * row + s] + beta[size_t(s)]);
          }
          T* to = out.as<T>() + (t * batch + n) * classes;
          for (int64_t c = 0; c < classes; ++c) {
            const T lp = sample.probs[t * sample.step_stride + c * sample.class_stride];
            to[c] = (std::exp(lp) - std::exp(sums[size_t(c)] + nll - lp)) * scale;
          }
          std::swap(beta, next);
        }
      }
    });
  });
}

}  // namespace mt::kernels
