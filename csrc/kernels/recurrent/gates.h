// What recurrent cells compute between their products, for rows that lie one after the other. `width` is that of the
// hidden state. Loops are compiled for each machine level.
#pragma once

#include <cstdint>

#include "kernels/common/cpu_features.h"
#include "kernels/common/vector_math.h"

namespace mt::kernels {

// The gradient of the hidden state after a step: what comes from the outputs (a row of zeros and stride 0 where nobody
// used them) and what comes back from the step after.
template <class C>
struct HiddenGradient {
  const C* output;
  int64_t output_stride;
  const C* later;
};

// name[cpu_level] is the loop as compiled for the machine.
#define MT_LEVELS(NAME, PARAMETERS, ARGUMENTS)                            \
  static void NAME##_base PARAMETERS { NAME##_body ARGUMENTS; }           \
  MT_WIDE static void NAME##_wide PARAMETERS { NAME##_body ARGUMENTS; }   \
  MT_WIDEST static void NAME##_most PARAMETERS { NAME##_body ARGUMENTS; } \
  static constexpr decltype(&NAME##_base) NAME[kLevels] = {NAME##_base, NAME##_wide, NAME##_most};
#define MT_INLINE [[gnu::always_inline]] static inline

template <class C>
struct LstmGates {
  // gates [rows, 4 width] hold the sums of the input, forget, cell and output gate, and then their values.
  MT_INLINE void forward_body(C* gates, const C* bias, const C* before, C* after, C* hidden, int64_t rows,
                              int64_t width) {
    for (int64_t n = 0; n < rows; ++n, gates += 4 * width, before += width, after += width, hidden += width) {
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const C in = math::sigmoid(gates[j] + bias[j]);
        const C forget = math::sigmoid(gates[width + j] + bias[width + j]);
        const C fresh = math::tanh(gates[2 * width + j] + bias[2 * width + j]);
        const C out = math::sigmoid(gates[3 * width + j] + bias[3 * width + j]);
        const C state = forget * before[j] + in * fresh;
        gates[j] = in, gates[width + j] = forget, gates[2 * width + j] = fresh, gates[3 * width + j] = out;
        after[j] = state;
        hidden[j] = out * math::tanh(state);
      }
    }
  }
  // grad_cell is that of the state after the step, and then that of the state before. The gates' gradients are added to
  // `totals` as well, which has a row for each.
  MT_INLINE void backward_body(const C* gates, const C* before, const C* after, HiddenGradient<C> grad,
                               C* grad_cell, C* grad_gates, C* totals, int64_t rows, int64_t width) {
    for (int64_t n = 0; n < rows; ++n) {
      const C *of_output = grad.output + n * grad.output_stride, *later = grad.later + n * width;
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const C in = gates[j], forget = gates[width + j], fresh = gates[2 * width + j],
                out = gates[3 * width + j];
        const C bent = math::tanh(after[j]), hidden = of_output[j] + later[j];
        const C state = grad_cell[j] + hidden * out * (C(1) - bent * bent);
        const C of_in = state * fresh * in * (C(1) - in),
                of_forget = state * before[j] * forget * (C(1) - forget),
                of_fresh = state * in * (C(1) - fresh * fresh), of_out = hidden * bent * out * (C(1) - out);
        grad_gates[j] = of_in, totals[j] += of_in;
        grad_gates[width + j] = of_forget, totals[width + j] += of_forget;
        grad_gates[2 * width + j] = of_fresh, totals[2 * width + j] += of_fresh;
        grad_gates[3 * width + j] = of_out, totals[3 * width + j] += of_out;
        grad_cell[j] = state * forget;
      }
      gates += 4 * width, grad_gates += 4 * width, totals += 4 * width;
      before += width, after += width, grad_cell += width;
    }
  }
  MT_LEVELS(forward,
            (C * gates, const C* bias, const C* before, C* after, C* hidden, int64_t rows, int64_t width),
            (gates, bias, before, after, hidden, rows, width))
  MT_LEVELS(backward,
            (const C* gates, const C* before, const C* after, HiddenGradient<C> grad, C* grad_cell,
             C* grad_gates, C* totals, int64_t rows, int64_t width),
            (gates, before, after, grad, grad_cell, grad_gates, totals, rows, width))
};

template <class C>
struct GruGates {
  // gates [rows, 4 width] hold the sums of the reset and update gate, the input's part of the new state and the hidden
  // state's part of it; then the values of the gates, the new state, and the same part with its bias.
  MT_INLINE void forward_body(C* gates, const C* bias, const C* before, C* hidden, int64_t rows,
                              int64_t width) {
    for (int64_t n = 0; n < rows; ++n, gates += 4 * width, before += width, hidden += width) {
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const C reset = math::sigmoid(gates[j] + bias[j]);
        const C update = math::sigmoid(gates[width + j] + bias[width + j]);
        const C ours = gates[3 * width + j] + bias[3 * width + j];
        const C fresh = math::tanh(gates[2 * width + j] + bias[2 * width + j] + reset * ours);
        gates[j] = reset, gates[width + j] = update, gates[2 * width + j] = fresh,
        gates[3 * width + j] = ours;
        hidden[j] = fresh + update * (before[j] - fresh);
      }
    }
  }
  // to_input and to_hidden [rows, 3 width] are the gradients of the two products, to_before the part of the state's
  // gradient that takes no product.
  MT_INLINE void backward_body(const C* gates, const C* before, HiddenGradient<C> grad, C* to_input,
                               C* to_hidden, C* to_before, int64_t rows, int64_t width) {
    for (int64_t n = 0; n < rows; ++n) {
      const C *of_output = grad.output + n * grad.output_stride, *later = grad.later + n * width;
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        const C reset = gates[j], update = gates[width + j], fresh = gates[2 * width + j],
                ours = gates[3 * width + j];
        const C hidden = of_output[j] + later[j];
        const C to_fresh = hidden * (C(1) - update) * (C(1) - fresh * fresh);
        const C to_reset = to_fresh * ours * reset * (C(1) - reset);
        const C to_update = hidden * (before[j] - fresh) * update * (C(1) - update);
        to_input[j] = to_hidden[j] = to_reset;
        to_input[width + j] = to_hidden[width + j] = to_update;
        to_input[2 * width + j] = to_fresh;
        to_hidden[2 * width + j] = to_fresh * reset;
        to_before[j] = hidden * update;
      }
      gates += 4 * width, to_input += 3 * width, to_hidden += 3 * width;
      before += width, to_before += width;
    }
  }
  MT_LEVELS(forward, (C * gates, const C* bias, const C* before, C* hidden, int64_t rows, int64_t width),
            (gates, bias, before, hidden, rows, width))
  MT_LEVELS(backward,
            (const C* gates, const C* before, HiddenGradient<C> grad, C* to_input, C* to_hidden, C* to_before,
             int64_t rows, int64_t width),
            (gates, before, grad, to_input, to_hidden, to_before, rows, width))
};

template <class C>
struct PlainGates {
  // hidden [rows, width] holds the sums, and then the state.
  MT_INLINE void forward_body(C* hidden, const C* bias, bool relu, int64_t rows, int64_t width) {
    for (int64_t n = 0; n < rows; ++n, hidden += width) {
      if (relu) {
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) {
          const C sum = hidden[j] + bias[j];
          hidden[j] = sum < C(0) ? C(0) : sum;  // NaN stays
        }
      } else {
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) hidden[j] = math::tanh(hidden[j] + bias[j]);
      }
    }
  }
  MT_INLINE void backward_body(const C* hidden, HiddenGradient<C> grad, C* to, bool relu, int64_t rows,
                               int64_t width) {
    for (int64_t n = 0; n < rows; ++n, hidden += width, to += width) {
      const C *of_output = grad.output + n * grad.output_stride, *later = grad.later + n * width;
      if (relu) {
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j) to[j] = hidden[j] <= C(0) ? C(0) : of_output[j] + later[j];
      } else {
#pragma GCC ivdep
        for (int64_t j = 0; j < width; ++j)
          to[j] = (of_output[j] + later[j]) * (C(1) - hidden[j] * hidden[j]);
      }
    }
  }
  MT_LEVELS(forward, (C * hidden, const C* bias, bool relu, int64_t rows, int64_t width),
            (hidden, bias, relu, rows, width))
  MT_LEVELS(backward,
            (const C* hidden, HiddenGradient<C> grad, C* to, bool relu, int64_t rows, int64_t width),
            (hidden, grad, to, relu, rows, width))
};

#undef MT_INLINE
#undef MT_LEVELS

}  // namespace mt::kernels
