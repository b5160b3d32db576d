// Rules of recurrent layers over packed rows. Included by infer.h.
#pragma once

#include "infer/infer.h"

namespace mt::infer {

void lstm_layer(const Tensor& input, const Tensor& hidden, const Tensor& cell, const Tensor& weight_ih,
                const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh, IntList batch_sizes,
                bool reverse, Output& output, Output& last_hidden, Output& last_cell, Output& cells,
                Output& gates);
void lstm_layer_backward(const Tensor& grad_output, const Tensor& grad_last_hidden,
                         const Tensor& grad_last_cell, const Tensor& cell, const Tensor& weight_hh,
                         const Tensor& cells, const Tensor& gates, IntList batch_sizes, bool reverse,
                         Output& grad_gates, Output& grad_hidden, Output& grad_cell, Output& grad_bias);
void gru_layer(const Tensor& input, const Tensor& hidden, const Tensor& weight_ih, const Tensor& weight_hh,
               const Tensor& bias_ih, const Tensor& bias_hh, IntList batch_sizes, bool reverse,
               Output& output, Output& last_hidden, Output& states, Output& gates);
void gru_layer_backward(const Tensor& grad_output, const Tensor& grad_last_hidden, const Tensor& hidden,
                        const Tensor& weight_hh, const Tensor& states, const Tensor& gates,
                        IntList batch_sizes, bool reverse, Output& grad_input_gates,
                        Output& grad_hidden_gates, Output& grad_hidden);
void rnn_layer(const Tensor& input, const Tensor& hidden, const Tensor& weight_ih, const Tensor& weight_hh,
               const Tensor& bias_ih, const Tensor& bias_hh, bool relu, IntList batch_sizes, bool reverse,
               Output& output, Output& last_hidden, Output& states);
void rnn_layer_backward(const Tensor& grad_output, const Tensor& grad_last_hidden, const Tensor& hidden,
                        const Tensor& weight_hh, const Tensor& states, bool relu, IntList batch_sizes,
                        bool reverse, Output& grad_gates, Output& grad_hidden);

}  // namespace mt::infer
