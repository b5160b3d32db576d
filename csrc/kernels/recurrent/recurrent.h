// Layers of recurrent networks in one direction, over all steps; and one step of a long short-term memory.
//
// Note [Recurrent layers]
// The rows of a layer are packed: those of the first step, then those of the second, …; a step never has more rows than
// the one before, so row b of each belongs to the same sequence. (Sequences of one length are the case where all steps
// have as many.) The input's part of the gates is one product for all steps. The hidden state's is one for each, with
// its weight packed once, and followed at once by what the gates compute. Threads take rows, which do not meet, so that
// they need not wait for each other between steps. What the gates were is kept for backward, which goes over the steps
// from the last to the first; the weights' gradients are products over all steps, made of its results by the caller.
#pragma once

#include "kernels/common/view.h"

namespace mt::kernels {

struct Steps {
  const int64_t* rows;  // of each step
  int64_t count;
  bool reverse;  // from the last step to the first
};

// One direction's weights: ih [gates, inputs], hh [gates, width]; biases are vectors or both null.
struct RecurrentWeights {
  const View &ih, &hh;
  const View *bias_ih, *bias_hh;
};

// N rows in all, B of them in the first step. input [N, I], hidden and cell [B, W]: the state before; output and cells
// [N, W]; gates [N, 4 W].
void lstm_layer(const View& input, const View& hidden, const View& cell, const RecurrentWeights& weights,
                Steps steps, const View& output, const View& last_hidden, const View& last_cell,
                const View& cells, const View& gates);
// Gradients of results may be null. grad_gates [N, 4 W] is that of the sums, grad_bias [4 W] their sum over all rows:
// added up while they are at hand.
void lstm_layer_backward(const View* grad_output, const View* grad_last_hidden, const View* grad_last_cell,
                         const View& cell, const View& weight_hh, const View& cells, const View& gates,
                         Steps steps, const View& grad_gates, const View& grad_hidden, const View& grad_cell,
                         const View& grad_bias);

// gates [N, 4 W]: reset, update, new state, and the hidden state's part of the new state. `states` are the outputs once
// more, for backward: programs may write into the others.
void gru_layer(const View& input, const View& hidden, const RecurrentWeights& weights, Steps steps,
               const View& output, const View& last_hidden, const View& states, const View& gates);
// The gradients of the two products, [N, 3 W] each.
void gru_layer_backward(const View* grad_output, const View* grad_last_hidden, const View& hidden,
                        const View& weight_hh, const View& states, const View& gates, Steps steps,
                        const View& grad_input_gates, const View& grad_hidden_gates, const View& grad_hidden);

// tanh or relu of the sums.
void rnn_layer(const View& input, const View& hidden, const RecurrentWeights& weights, bool relu, Steps steps,
               const View& output, const View& last_hidden, const View& states);
void rnn_layer_backward(const View* grad_output, const View* grad_last_hidden, const View& weight_hh,
                        const View& states, bool relu, Steps steps, const View& grad_gates,
                        const View& grad_hidden);

// input_gates + hidden_gates (+ biases [4 W]) are [B, 4 W]; cell [B, W] is the state before. `gates`, [B, 4 W], keeps the
// gates for the gradient.
void lstm_cell(const View& input_gates, const View& hidden_gates, const View* input_bias,
               const View* hidden_bias, const View& cell, const View& hidden_out, const View& cell_out,
               const View& gates);
// Either gradient may be null. grad_gates is [B, 4 W], grad_cell that of the state before.
void lstm_cell_backward(const View* grad_hidden, const View* grad_cell_out, const View& cell,
                        const View& cell_out, const View& gates, const View& grad_gates,
                        const View& grad_cell);

}  // namespace mt::kernels
