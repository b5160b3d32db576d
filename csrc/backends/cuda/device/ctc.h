// Connectionist temporal classification: threads of a block are states of a sample, steps follow one another.
//
// Launch: block 256, grid [batch].
//   ctc_summed<T>(CtcCall): writes alpha and loss.
//   ctc_backward<T>: reads alpha; labels that meet in a class are added in no fixed order, as in PyTorch.
#pragma once

#include "backends/cuda/device/places.h"
#include "kernels/loss/ctc_sample.h"

namespace mt::cuda {

template <class T> kernels::CtcSample<T> ctc_sample(const CtcCall& call) {
  const int64_t n = blockIdx.x;
  return {call.input_lengths[n],
          2 * call.target_lengths[n] + 1,
          static_cast<const T*>(call.probs) + n * call.classes,
          call.batch * call.classes,
          1,
          reinterpret_cast<const int64_t*>(call.labels) + call.label_starts[n],
          1,
          call.blank};
}

template <class T> void ctc_summed(const CtcCall& call) {
  const kernels::CtcSample<T> sample = ctc_sample<T>(call);
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  T* alpha = static_cast<T*>(call.alpha) + int64_t(blockIdx.x) * call.steps * call.states;
  for (int64_t s = threadIdx.x; s < sample.states; s += blockDim.x)
    checked_index(sample.label(s), call.classes, false);
  for (int64_t t = 0; t < call.steps; ++t) {
    for (int64_t s = threadIdx.x; s < call.states; s += blockDim.x) {
      const bool counts = t < sample.steps && s < sample.states;
      T sum = nothing;
      if (counts && t > 0) sum = sample.forward(alpha + (t - 1) * call.states, t, s);
      else if (counts && s < 2) sum = sample.prob(0, s);
      alpha[t * call.states + s] = sum;
    }
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  const T loss = sample.loss(alpha, call.states);
  static_cast<T*>(call.loss)[blockIdx.x] =
      call.zero_infinity && loss == std::numeric_limits<T>::infinity() ? T(0) : loss;
}

template <class T> void ctc_backward(const CtcCall& call) {
  const kernels::CtcSample<T> sample = ctc_sample<T>(call);
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  const T* alpha = static_cast<const T*>(call.alpha) + int64_t(blockIdx.x) * call.steps * call.states;
  T* beta = static_cast<T*>(call.beta) + int64_t(blockIdx.x) * 2 * call.states;
  const T nll = sample.loss(alpha, call.states);  // before an infinite one was replaced
  if (call.zero_infinity && nll == -nothing) return;
  const T scale = static_cast<const T*>(call.gradient)[blockIdx.x];
  const auto added = [](T a, T b) { return kernels::log_of_sum(a, b); };
  for (int64_t t = sample.steps - 1; t >= 0; --t) {
    T* to = static_cast<T*>(call.out) + (t * call.batch + int64_t(blockIdx.x)) * call.classes;
    T* now = beta + t % 2 * call.states;
    const T* next = t == sample.steps - 1 ? nullptr : beta + (t + 1) % 2 * call.states;
    for (int64_t c = threadIdx.x; c < call.classes; c += blockDim.x) to[c] = nothing;
    __syncthreads();
    T blanks = nothing;  // half of the states: folded before they meet
    for (int64_t s = threadIdx.x; s < sample.states; s += blockDim.x) {
      now[s] = sample.backward(next, t, s);
      const T through = alpha[t * call.states + s] + now[s];
      if (s % 2 == 0) blanks = added(blanks, through);
      else update_at_once(to + sample.label(s), [&](T old) { return added(old, through); });
    }
    blanks = fold_block(blanks, nothing, added);
    if (threadIdx.x == 0) update_at_once(to + call.blank, [&](T old) { return added(old, blanks); });
    __syncthreads();
    for (int64_t c = threadIdx.x; c < call.classes; c += blockDim.x) {
      const T lp = sample.probs[t * sample.step_stride + c];
      to[c] = (std::exp(lp) - std::exp(to[c] + nll - lp)) * scale;
    }
  }
}

}  // namespace mt::cuda
