// One sample of connectionist temporal classification. Included by the host's compiler and by devices'.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace mt::kernels {

// log(exp(a) + exp(b)), which is -inf when both are.
template <class T>
T log_of_sum(T a, T b) {
  const T high = a > b ? a : b, low = a > b ? b : a;
  if (high == -std::numeric_limits<T>::infinity()) return high;
  return high + std::log1p(std::exp(low - high));
}

// Labels have a blank before, between and after them.
template <class T>
struct CtcSample {
  int64_t steps, states;
  const T* probs;  // log-probabilities of step 0
  int64_t step_stride, class_stride;
  const int64_t* labels;
  int64_t label_stride, blank;

  int64_t label(int64_t state) const { return state % 2 ? labels[state / 2 * label_stride] : blank; }
  T prob(int64_t step, int64_t state) const {
    return probs[step * step_stride + label(state) * class_stride];
  }
  // Whether the blank between two labels may be left out: only if they differ.
  bool skips(int64_t state) const { return state >= 2 && state % 2 && label(state) != label(state - 2); }

  // Of all alignments that are in `state` after a step, by those of the step before.
  T forward(const T* last, int64_t step, int64_t state) const {
    T sum = last[state];
    if (state > 0) sum = log_of_sum(sum, last[state - 1]);
    if (skips(state)) sum = log_of_sum(sum, last[state - 2]);
    return sum + prob(step, state);
  }
  // The same from the end, by those of the step behind; null for the last step.
  T backward(const T* next, int64_t step, int64_t state) const {
    T sum = state >= states - 2 ? T(0) : -std::numeric_limits<T>::infinity();
    if (next) {
      sum = next[state];
      if (state + 1 < states) sum = log_of_sum(sum, next[state + 1]);
      if (state + 2 < states && skips(state + 2)) sum = log_of_sum(sum, next[state + 2]);
    }
    return sum + prob(step, state);
  }
  // The loss from the first row of forward sums, which are `row` apart.
  T loss(const T* alpha, int64_t row) const {
    if (steps == 0) return states == 1 ? T(0) : std::numeric_limits<T>::infinity();
    const T* last = alpha + (steps - 1) * row;
    return -(states > 1 ? log_of_sum(last[states - 1], last[states - 2]) : last[0]);
  }
};

}  // namespace mt::kernels
