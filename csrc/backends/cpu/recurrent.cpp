#include "generated/cpu/recurrent.h"

#include "backends/cpu/optional_view.h"
#include "kernels/recurrent/recurrent.h"

namespace mt::cpu {
namespace {

kernels::Steps steps_of(IntList batch_sizes, bool reverse) {
  return {batch_sizes.data(), int64_t(batch_sizes.size()), reverse};
}

// The weights of a direction as kernels take them, while it lives.
struct WeightViews {
  kernels::View ih, hh;
  OptionalView bias_ih, bias_hh;
  WeightViews(const Tensor& weight_ih, const Tensor& weight_hh, const Tensor& first, const Tensor& second)
      : ih(view(weight_ih)), hh(view(weight_hh)), bias_ih(first), bias_hh(second) {}
  kernels::RecurrentWeights get() const { return {ih, hh, bias_ih.get(), bias_hh.get()}; }
};

}  // namespace

void lstm_layer(const Tensor& input, const Tensor& hidden, const Tensor& cell, const Tensor& weight_ih,
                const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh, IntList batch_sizes,
                bool reverse, const Tensor& output, const Tensor& last_hidden, const Tensor& last_cell,
                const Tensor& cells, const Tensor& gates) {
  const WeightViews weights(weight_ih, weight_hh, bias_ih, bias_hh);
  kernels::lstm_layer(view(input), view(hidden), view(cell), weights.get(), steps_of(batch_sizes, reverse),
                      view(output), view(last_hidden), view(last_cell), view(cells), view(gates));
}

void lstm_layer_backward(const Tensor& grad_output, const Tensor& grad_last_hidden,
                         const Tensor& grad_last_cell, const Tensor& cell, const Tensor& weight_hh,
                         const Tensor& cells, const Tensor& gates, IntList batch_sizes, bool reverse,
                         const Tensor& grad_gates, const Tensor& grad_hidden, const Tensor& grad_cell,
                         const Tensor& grad_bias) {
  const OptionalView of_output(grad_output), of_hidden(grad_last_hidden), of_cell(grad_last_cell);
  kernels::lstm_layer_backward(of_output.get(), of_hidden.get(), of_cell.get(), view(cell), view(weight_hh),
                               view(cells), view(gates), steps_of(batch_sizes, reverse), view(grad_gates),
                               view(grad_hidden), view(grad_cell), view(grad_bias));
}

void gru_layer(const Tensor& input, const Tensor& hidden, const Tensor& weight_ih, const Tensor& weight_hh,
               const Tensor& bias_ih, const Tensor& bias_hh, IntList batch_sizes, bool reverse,
               const Tensor& output, const Tensor& last_hidden, const Tensor& states, const Tensor& gates) {
  const WeightViews weights(weight_ih, weight_hh, bias_ih, bias_hh);
  kernels::gru_layer(view(input), view(hidden), weights.get(), steps_of(batch_sizes, reverse), view(output),
                     view(last_hidden), view(states), view(gates));
}

void gru_layer_backward(const Tensor& grad_output, const Tensor& grad_last_hidden, const Tensor& hidden,
                        const Tensor& weight_hh, const Tensor& states, const Tensor& gates,
                        IntList batch_sizes, bool reverse, const Tensor& grad_input_gates,
                        const Tensor& grad_hidden_gates, const Tensor& grad_hidden) {
  const OptionalView of_output(grad_output), of_hidden(grad_last_hidden);
  kernels::gru_layer_backward(of_output.get(), of_hidden.get(), view(hidden), view(weight_hh), view(states),
                              view(gates), steps_of(batch_sizes, reverse), view(grad_input_gates),
                              view(grad_hidden_gates), view(grad_hidden));
}

void rnn_layer(const Tensor& input, const Tensor& hidden, const Tensor& weight_ih, const Tensor& weight_hh,
               const Tensor& bias_ih, const Tensor& bias_hh, bool relu, IntList batch_sizes, bool reverse,
               const Tensor& output, const Tensor& last_hidden, const Tensor& states) {
  const WeightViews weights(weight_ih, weight_hh, bias_ih, bias_hh);
  kernels::rnn_layer(view(input), view(hidden), weights.get(), relu, steps_of(batch_sizes, reverse),
                     view(output), view(last_hidden), view(states));
}

void rnn_layer_backward(const Tensor& grad_output, const Tensor& grad_last_hidden, const Tensor&,
                        const Tensor& weight_hh, const Tensor& states, bool relu, IntList batch_sizes,
                        bool reverse, const Tensor& grad_gates, const Tensor& grad_hidden) {
  const OptionalView of_output(grad_output), of_hidden(grad_last_hidden);
  kernels::rnn_layer_backward(of_output.get(), of_hidden.get(), view(weight_hh), view(states), relu,
                              steps_of(batch_sizes, reverse), view(grad_gates), view(grad_hidden));
}

}  // namespace mt::cpu
