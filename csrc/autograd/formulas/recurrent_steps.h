// Recurrent layers step by step, in terms of operators: for devices without a kernel, for what the kernels leave out,
// and for gradients that are to be differentiated again. Rows are packed; see Note [Recurrent layers].
#pragma once

#include "core/dispatch.h"

namespace mt::recurrent {

// `sums` [N, gates] are the input's part, with its biases.
struct LstmRun {
  Tensor output, last_hidden, last_cell, cells, gates;
};
// With a projection [P, W], hidden states are P wide and no gates are kept.
LstmRun lstm_steps(const Tensor& sums, const Tensor& hidden, const Tensor& cell, const Tensor& weight_hh,
                   const Tensor& projection, IntList batch_sizes, bool reverse);

struct GruRun {
  Tensor output, last_hidden, gates;
};
GruRun gru_steps(const Tensor& sums, const Tensor& hidden, const Tensor& weight_hh, const Tensor& bias_hh,
                 IntList batch_sizes, bool reverse);

struct RnnRun {
  Tensor output, last_hidden;
};
RnnRun rnn_steps(const Tensor& sums, const Tensor& hidden, const Tensor& weight_hh, bool relu,
                 IntList batch_sizes, bool reverse);

// The way back. Gradients of results may be undefined.
struct LstmResultGradients {
  Tensor output, last_hidden, last_cell, cells, gates;
};
struct LstmGradients {
  Tensor sums, hidden, cell;
};
LstmGradients lstm_steps_backward(const LstmResultGradients& grads, const Tensor& cell,
                                  const Tensor& weight_hh, const Tensor& cells, const Tensor& gates,
                                  IntList batch_sizes, bool reverse);

struct GruResultGradients {
  Tensor output, last_hidden, states, gates;
};
struct GruGradients {
  Tensor input_gates, hidden_gates, hidden;
};
GruGradients gru_steps_backward(const GruResultGradients& grads, const Tensor& hidden,
                                const Tensor& weight_hh, const Tensor& states, const Tensor& gates,
                                IntList batch_sizes, bool reverse);

struct RnnResultGradients {
  Tensor output, last_hidden, states;
};
struct RnnGradients {
  Tensor sums, hidden;
};
RnnGradients rnn_steps_backward(const RnnResultGradients& grads, const Tensor& hidden,
                                const Tensor& weight_hh, const Tensor& states, bool relu, IntList batch_sizes,
                                bool reverse);

// The state before every row: of_steps [N, W] a step later, and the first state [B, W].
Tensor states_before(const Tensor& of_steps, const Tensor& first, IntList batch_sizes, bool reverse);

// One tensor, the other, or their sum; either may be undefined.
Tensor sum_of_defined(const Tensor& a, const Tensor& b);

}  // namespace mt::recurrent
