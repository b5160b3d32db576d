#include "kernels/loss/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/common/copy.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

constexpr DTypeSet kDomain = dtype_set(DType::float32, DType::float64);

// log(exp(a) + exp(b)), which is -inf when both are.
template <class T>
T log_add(T a, T b) {
  const T high = std::max(a, b);
  if (high == -std::numeric_limits<T>::infinity()) return high;
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

// One sample: its labels with a blank before, between and after them.
template <class T>
struct Sample {
  int64_t steps, states;
  const T* probs;  // log-probabilities of step 0
  int64_t step_stride, class_stride;
  const int64_t* labels;
  int64_t label_stride, blank;

  Sample(const CtcProblem& p, int64_t n) : blank(p.blank) {
    const View &lp = p.log_probs, &t = p.targets;
    steps = p.input_lengths[n];
    const int64_t length = p.target_lengths[n];
    states = 2 * length + 1;
    probs = lp.as<T>() + n * lp.strides[1];
    step_stride = lp.strides[0], class_stride = lp.strides[2];
    int64_t before = n * (t.ndim == 2 ? t.strides[0] : 0);
    label_stride = t.strides[t.ndim - 1];
    if (t.ndim == 1)
      for (int64_t i = 0; i < n; ++i) before += p.target_lengths[i] * label_stride;
    labels = t.as<int64_t>() + before;
    for (int64_t i = 0; i < length; ++i)
      MT_CHECK_AS(index, label(2 * i + 1) >= 0 && label(2 * i + 1) < lp.sizes[2], "ctc_loss: target ",
                  label(2 * i + 1), " is out of bounds for ", lp.sizes[2], " classes");
  }

  int64_t label(int64_t state) const { return state % 2 ? labels[state / 2 * label_stride] : blank; }
  T prob(int64_t step, int64_t state) const {
    return probs[step * step_stride + label(state) * class_stride];
  }
  // Whether the blank between two labels may be left out: only if they differ.
  bool skips(int64_t state) const { return state >= 2 && state % 2 && label(state) != label(state - 2); }
};

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
        const Sample<T> sample(problem, n);
        T* alpha = log_alpha.as<T>() + n * plane;
        T& result = loss.as<T>()[n * loss.strides[0]];
        if (sample.steps == 0) {
          result = sample.states == 1 ? T(0) : -nothing;
          if (problem.zero_infinity && std::isinf(result)) result = 0;
          continue;
        }
        alpha[0] = sample.prob(0, 0);
        if (sample.states > 1) alpha[1] = sample.prob(0, 1);
        for (int64_t t = 1; t < sample.steps; ++t) {
          const T* last = alpha + (t - 1) * row;
          T* now = alpha + t * row;
          for (int64_t s = 0; s < sample.states; ++s) {
            T sum = last[s];
            if (s > 0) sum = log_add(sum, last[s - 1]);
            if (sample.skips(s)) sum = log_add(sum, last[s - 2]);
            now[s] = sum + sample.prob(t, s);
          }
        }
        const T* final = alpha + (sample.steps - 1) * row;
        T sum = final[sample.states - 1];
        if (sample.states > 1) sum = log_add(sum, final[sample.states - 2]);
        result = -sum;
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
        const Sample<T> sample(problem, n);
        const T* alpha = log_alpha.as<T>() + n * plane;
        // The loss as it was before an infinite one was replaced.
        T nll = -nothing;
        if (sample.steps > 0) {
          const T* final = alpha + (sample.steps - 1) * row;
          T sum = final[sample.states - 1];
          if (sample.states > 1) sum = log_add(sum, final[sample.states - 2]);
          nll = -sum;
        }
        if (problem.zero_infinity && std::isinf(nll)) continue;
        const T scale = grad.as<T>()[n * grad.strides[0]];
        for (int64_t t = sample.steps - 1; t >= 0; --t) {
          for (int64_t s = sample.states - 1; s >= 0; --s) {
            T sum = nothing;
            if (t == sample.steps - 1) {
              if (s >= sample.states - 2) sum = 0;
            } else {
              sum = next[size_t(s)];
              if (s + 1 < sample.states) sum = log_add(sum, next[size_t(s + 1)]);
              if (s + 2 < sample.states && sample.skips(s + 2)) sum = log_add(sum, next[size_t(s + 2)]);
            }
            beta[size_t(s)] = sum + sample.prob(t, s);
          }
          std::fill(sums.begin(), sums.end(), nothing);
          for (int64_t s = 0; s < sample.states; ++s) {
            T& sum = sums[size_t(sample.label(s))];
            sum = log_add(sum, alpha[t * row + s] + beta[size_t(s)]);
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
