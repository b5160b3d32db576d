#include "kernels/loss/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/common/copy.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/common/vector_math.h"
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

// What is the same for every step of a sample, and rows of a step: of its classes, and of its states with two more on
// either side that nothing reaches.
template <class T>
class CtcRows {
 public:
  CtcRows(const CtcSample<T>& sample, int64_t classes)
      : sample_(sample),
        classes_(size_t(classes)),
        of_states_(size_t(sample.states)),
        skips_(size_t(sample.states)),
        last_(size_t(sample.states) + 4, kNothing),
        made_(last_) {
    for (size_t s = 0; s < skips_.size(); ++s) skips_[s] = sample.skips(int64_t(s)) ? T(0) : kNothing;
  }

  // Reads the log-probabilities of a step.
  void read(int64_t step) {
    const T* from = sample_.probs + step * sample_.step_stride;
    for (size_t c = 0; c < classes_.size(); ++c) classes_[c] = from[int64_t(c) * sample_.class_stride];
    for (size_t s = 0; s < of_states_.size(); ++s)
      of_states_[s] = classes_[size_t(sample_.label(int64_t(s)))];
  }
  const T* of_classes() const { return classes_.data(); }
  const T* of_states() const { return of_states_.data(); }

  // Of all alignments that end in each state after the step that was read, by those of the step before.
  const T* forward(bool first) {
    T* out = made_.data() + 2;
    const T* last = last_.data() + 2;
    if (first) std::copy_n(of_states_.data(), std::min<int64_t>(2, sample_.states), out);
    else at_level<Sums>(last, last - 1, last - 2, skips_.data(), of_states_.data(), out, sample_.states);
    return finished();
  }
  // The same from the end, by those of the step behind.
  const T* backward(bool first) {
    T* out = made_.data() + 2;
    const T* last = last_.data() + 2;
    const int64_t ends = std::min<int64_t>(2, sample_.states), others = sample_.states - ends;
    if (first) {
      std::copy_n(of_states_.data() + others, ends, out + others);
    } else {
      // A blank is skipped into the state behind it, and into none from the last two.
      at_level<Sums>(last, last + 1, last + 2, skips_.data() + ends, of_states_.data(), out, others);
      at_level<Sums>(last + others, last + others + 1, last + others + 2, kNone, of_states_.data() + others,
                     out + others, ends);
    }
    return finished();
  }

 private:
  static constexpr T kNothing = -std::numeric_limits<T>::infinity();
  static constexpr T kNone[2] = {kNothing, kNothing};

  // log(exp(a) + exp(b) + exp(c + skip)) + prob
  struct Sums {
    [[gnu::always_inline]] static inline void run(const T* a, const T* b, const T* c, const T* skip,
                                                  const T* prob, T* out, int64_t n) {
#pragma GCC ivdep
      for (int64_t s = 0; s < n; ++s) {
        const T third = c[s] + skip[s], two = a[s] > b[s] ? a[s] : b[s], most = two > third ? two : third;
        const T shift = math::select(most == kNothing, T(0), most);
        const T sum = math::exp(a[s] - shift) + math::exp(b[s] - shift) + math::exp(third - shift);
        out[s] = shift + math::log(sum) + prob[s];
      }
    }
  };

  const T* finished() {
    std::swap(last_, made_);
    return last_.data() + 2;
  }

  CtcSample<T> sample_;
  std::vector<T> classes_, of_states_, skips_, last_, made_;
};

// The gradient of one step from the sums in both directions.
template <class T>
struct CtcSlopes {
  [[gnu::always_inline]] static inline void run(const CtcSample<T>* sample, const T* probs,
                                                const T* of_states, const T* alpha, const T* beta, T nll,
                                                T scale, T* shares, T* to, int64_t classes) {
    const T nothing = -std::numeric_limits<T>::infinity();
#pragma GCC ivdep
    for (int64_t s = 0; s < sample->states; ++s)
      shares[s] = math::exp(alpha[s] + beta[s] + nll - of_states[s]);
    // A class that is no label has a share of 0, but of nothing at all NaN.
#pragma GCC ivdep
    for (int64_t c = 0; c < classes; ++c) to[c] = math::exp(nothing + nll - probs[c]);
    for (int64_t s = 0; s < sample->states; ++s) to[sample->label(s)] += shares[s];
#pragma GCC ivdep
    for (int64_t c = 0; c < classes; ++c) to[c] = (math::exp(probs[c]) - to[c]) * scale;
  }
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
        const CtcSample<T> sample = sample_of<T>(problem, n);
        T* alpha = log_alpha.as<T>() + n * plane;
        T& result = loss.as<T>()[n * loss.strides[0]];
        CtcRows<T> rows(sample, problem.log_probs.sizes[2]);
        for (int64_t t = 0; t < sample.steps; ++t) {
          rows.read(t);
          std::copy_n(rows.forward(t == 0), sample.states, alpha + t * row);
        }
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
    parallel_for(0, batch, std::max<int64_t>(1, kGrain / (8 * plane)), [&](int64_t begin, int64_t end) {
      std::vector<T> shares(static_cast<size_t>(row));
      for (int64_t n = begin; n < end; ++n) {
        const CtcSample<T> sample = sample_of<T>(problem, n);
        const T* alpha = log_alpha.as<T>() + n * plane;
        // The loss as it was before an infinite one was replaced.
        const T nll = sample.loss(alpha, row);
        if (problem.zero_infinity && std::isinf(nll)) continue;
        const T scale = grad.as<T>()[n * grad.strides[0]];
        CtcRows<T> rows(sample, classes);
        for (int64_t t = sample.steps - 1; t >= 0; --t) {
          rows.read(t);
          const T* beta = rows.backward(t == sample.steps - 1);
          at_level<CtcSlopes<T>>(&sample, rows.of_classes(), rows.of_states(), alpha + t * row, beta, nll,
                                 scale, shares.data(), out.as<T>() + (t * batch + n) * classes, classes);
        }
      }
    });
  });
}

}  // namespace mt::kernels
