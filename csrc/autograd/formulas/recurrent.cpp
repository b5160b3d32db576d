#include "autograd/formulas/recurrent.h"

#include "autograd/formulas/again.h"

#include <array>

#include "autograd/formulas/recurrent_steps.h"
#include "autograd/node.h"
#include "generated/ops/matmul.h"
#include "generated/ops/recurrent.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"

namespace mt::formulas {
namespace {

// The gradients of what is the same at every step; undefined where it is not needed.
Tensor of_input(const Tensor& gates, const Tensor& weight_ih, bool needed) {
  return needed ? mm(gates, weight_ih) : Tensor();
}
Tensor of_weight(const Tensor& gates, const Tensor& factor, bool needed) {
  return needed ? mm(t(gates), factor) : Tensor();
}

// The hidden state's weight meets the state before every row. Sequences of one length need no copy of those: all but the
// first step's lie in `states`.
Tensor of_hidden_weight(const Tensor& gates, const Tensor& states, const Tensor& first, IntList batch_sizes,
                        bool reverse, bool needed) {
  if (!needed) return Tensor();
  const int64_t batch = batch_sizes[0], all = gates.size(0), rest = all - batch;
  if (batch != batch_sizes.back())
    return mm(t(gates), recurrent::states_before(states, first, batch_sizes, reverse));
  const int64_t begin = reverse ? rest : 0;  // of the step that meets the first state
  const Tensor of_first = mm(t(slice(gates, 0, begin, begin + batch, 1)), first);
  if (rest == 0) return of_first;
  const int64_t later = reverse ? 0 : batch;
  return addmm(of_first, t(slice(gates, 0, later, later + rest, 1)),
               slice(states, 0, batch - later, all - later, 1), Scalar(1), Scalar(1));
}
Tensor of_bias(const Tensor& gates, bool needed) {
  return needed ? sum(gates, DimList(0), false, std::nullopt) : Tensor();
}

}  // namespace

std::array<Tensor, 7> lstm_layer_backward(const recurrent::LstmResultGradients& grads, const Tensor& input,
                                          const Tensor& hidden, const Tensor& cell, const Tensor& weight_ih,
                                          const Tensor& weight_hh, const Tensor& output, const Tensor& cells,
                                          const Tensor& gates, IntList batch_sizes, bool reverse,
                                          const std::array<bool, 7>& needs) {
  recurrent::LstmGradients made;
  Tensor bias;
  // Only a gradient that is differentiated again reaches what was kept.
  if (differentiated_again(grads.output, grads.last_hidden, grads.last_cell, cell, weight_hh, cells) ||
      grads.cells.defined() || grads.gates.defined()) {
    made = recurrent::lstm_steps_backward(grads, cell, weight_hh, cells, gates, batch_sizes, reverse);
    bias = of_bias(made.sums, needs[5] || needs[6]);
  } else {
    std::tie(made.sums, made.hidden, made.cell, bias) =
        _lstm_layer_backward(grads.output, grads.last_hidden, grads.last_cell, cell, weight_hh, cells, gates,
                             batch_sizes, reverse);
  }
  return {of_input(made.sums, weight_ih, needs[0]),
          made.hidden,
          made.cell,
          of_weight(made.sums, input, needs[3]),
          of_hidden_weight(made.sums, output, hidden, batch_sizes, reverse, needs[4]),
          bias,
          bias};
}

std::array<Tensor, 6> gru_layer_backward(const recurrent::GruResultGradients& grads, const Tensor& input,
                                         const Tensor& hidden, const Tensor& weight_ih,
                                         const Tensor& weight_hh, const Tensor& states, const Tensor& gates,
                                         IntList batch_sizes, bool reverse,
                                         const std::array<bool, 6>& needs) {
  recurrent::GruGradients made;
  if (differentiated_again(grads.output, grads.last_hidden, hidden, weight_hh, states) ||
      grads.states.defined() || grads.gates.defined()) {
    made = recurrent::gru_steps_backward(grads, hidden, weight_hh, states, gates, batch_sizes, reverse);
  } else {
    std::tie(made.input_gates, made.hidden_gates, made.hidden) = _gru_layer_backward(
        grads.output, grads.last_hidden, hidden, weight_hh, states, gates, batch_sizes, reverse);
  }
  return {of_input(made.input_gates, weight_ih, needs[0]),
          made.hidden,
          of_weight(made.input_gates, input, needs[2]),
          of_hidden_weight(made.hidden_gates, states, hidden, batch_sizes, reverse, needs[3]),
          of_bias(made.input_gates, needs[4]),
          of_bias(made.hidden_gates, needs[5])};
}

std::array<Tensor, 6> rnn_layer_backward(const recurrent::RnnResultGradients& grads, const Tensor& input,
                                         const Tensor& hidden, const Tensor& weight_ih,
                                         const Tensor& weight_hh, const Tensor& states, bool relu,
                                         IntList batch_sizes, bool reverse,
                                         const std::array<bool, 6>& needs) {
  recurrent::RnnGradients made;
  if (differentiated_again(grads.output, grads.last_hidden, hidden, weight_hh, states) ||
      grads.states.defined()) {
    made = recurrent::rnn_steps_backward(grads, hidden, weight_hh, states, relu, batch_sizes, reverse);
  } else {
    std::tie(made.sums, made.hidden) = _rnn_layer_backward(grads.output, grads.last_hidden, hidden, weight_hh,
                                                           states, relu, batch_sizes, reverse);
  }
  const Tensor bias = of_bias(made.sums, needs[4] || needs[5]);
  return {of_input(made.sums, weight_ih, needs[0]),
          made.hidden,
          of_weight(made.sums, input, needs[2]),
          of_hidden_weight(made.sums, states, hidden, batch_sizes, reverse, needs[3]),
          bias,
          bias};
}

}  // namespace mt::formulas
