// Recurrent layers of devices that have no kernel for them.
#include "generated/ops/substitutes/recurrent.h"

#include "autograd/formulas/recurrent_steps.h"
#include "generated/ops/matmul.h"
#include "generated/ops/reduce.h"

namespace mt::substitutes {

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> lstm_layer(const Tensor& input, const Tensor& hidden,
                                                              const Tensor& cell, const Tensor& weight_ih,
                                                              const Tensor& weight_hh, const Tensor& bias_ih,
                                                              const Tensor& bias_hh, IntList batch_sizes,
                                                              bool reverse) {
  const Tensor sums = ops::linear(input, weight_ih, recurrent::sum_of_defined(bias_ih, bias_hh));
  const recurrent::LstmRun run =
      recurrent::lstm_steps(sums, hidden, cell, weight_hh, Tensor(), batch_sizes, reverse);
  return {run.output, run.last_hidden, run.last_cell, run.cells, run.gates};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> lstm_layer_backward(const Tensor& grad_output,
                                                               const Tensor& grad_last_hidden,
                                                               const Tensor& grad_last_cell,
                                                               const Tensor& cell, const Tensor& weight_hh,
                                                               const Tensor& cells, const Tensor& gates,
                                                               IntList batch_sizes, bool reverse) {
  const recurrent::LstmGradients made =
      recurrent::lstm_steps_backward({grad_output, grad_last_hidden, grad_last_cell, Tensor(), Tensor()},
                                     cell, weight_hh, cells, gates, batch_sizes, reverse);
  return {made.sums, made.hidden, made.cell, ops::sum(made.sums, DimList(0), false, std::nullopt)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> gru_layer(const Tensor& input, const Tensor& hidden,
                                                     const Tensor& weight_ih, const Tensor& weight_hh,
                                                     const Tensor& bias_ih, const Tensor& bias_hh,
                                                     IntList batch_sizes, bool reverse) {
  const Tensor sums = ops::linear(input, weight_ih, bias_ih);
  const recurrent::GruRun run = recurrent::gru_steps(sums, hidden, weight_hh, bias_hh, batch_sizes, reverse);
  return {run.output, run.last_hidden, run.output, run.gates};
}

std::tuple<Tensor, Tensor, Tensor> gru_layer_backward(const Tensor& grad_output,
                                                      const Tensor& grad_last_hidden, const Tensor& hidden,
                                                      const Tensor& weight_hh, const Tensor& states,
                                                      const Tensor& gates, IntList batch_sizes,
                                                      bool reverse) {
  const recurrent::GruGradients made =
      recurrent::gru_steps_backward({grad_output, grad_last_hidden, Tensor(), Tensor()}, hidden, weight_hh,
                                    states, gates, batch_sizes, reverse);
  return {made.input_gates, made.hidden_gates, made.hidden};
}

std::tuple<Tensor, Tensor, Tensor> rnn_layer(const Tensor& input, const Tensor& hidden,
                                             const Tensor& weight_ih, const Tensor& weight_hh,
                                             const Tensor& bias_ih, const Tensor& bias_hh, bool relu,
                                             IntList batch_sizes, bool reverse) {
  const Tensor sums = ops::linear(input, weight_ih, recurrent::sum_of_defined(bias_ih, bias_hh));
  const recurrent::RnnRun run = recurrent::rnn_steps(sums, hidden, weight_hh, relu, batch_sizes, reverse);
  return {run.output, run.last_hidden, run.output};
}

std::tuple<Tensor, Tensor> rnn_layer_backward(const Tensor& grad_output, const Tensor& grad_last_hidden,
                                              const Tensor& hidden, const Tensor& weight_hh,
                                              const Tensor& states, bool relu, IntList batch_sizes,
                                              bool reverse) {
  const recurrent::RnnGradients made = recurrent::rnn_steps_backward(
      {grad_output, grad_last_hidden, Tensor()}, hidden, weight_hh, states, relu, batch_sizes, reverse);
  return {made.sums, made.hidden};
}

}  // namespace mt::substitutes
