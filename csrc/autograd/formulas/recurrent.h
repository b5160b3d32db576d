// Backward of recurrent layers: a kernel goes back over the steps, or, when the gradient is to be differentiated again,
// operators do; the weights' gradients are products over all steps.
#pragma once
#pragma once

#include <array>

#include "autograd/formulas/common.h"
#include "autograd/formulas/recurrent_steps.h"

namespace mt::formulas {

// Of input, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh.
std::array<Tensor, 7> lstm_layer_backward(const recurrent::LstmResultGradients& grads, const Tensor& input,
                                          const Tensor& hidden, const Tensor& cell, const Tensor& weight_ih,
                                          const Tensor& weight_hh, const Tensor& output, const Tensor& cells,
                                          const Tensor& gates, IntList batch_sizes, bool reverse,
                                          const std::array<bool, 7>& needs);
// Of input, hidden, weight_ih, weight_hh, bias_ih, bias_hh.
std::array<Tensor, 6> gru_layer_backward(const recurrent::GruResultGradients& grads, const Tensor& input,
                                         const Tensor& hidden, const Tensor& weight_ih,
                                         const Tensor& weight_hh, const Tensor& states, const Tensor& gates,
                                         IntList batch_sizes, bool reverse, const std::array<bool, 6>& needs);
std::array<Tensor, 6> rnn_layer_backward(const recurrent::RnnResultGradients& grads, const Tensor& input,
                                         const Tensor& hidden, const Tensor& weight_ih,
                                         const Tensor& weight_hh, const Tensor& states, bool relu,
                                         IntList batch_sizes, bool reverse, const std::array<bool, 6>& needs);

}  // namespace mt::formulas
