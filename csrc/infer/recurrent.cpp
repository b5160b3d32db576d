#include "generated/infer/recurrent.h"

namespace mt::infer {
namespace {

void check_shape(const char* what, const Tensor& t, IntList wanted) {
  MT_CHECK(std::ranges::equal(t.sizes(), wanted), what, " has inconsistent size: got ", to_string(t.sizes()),
           ", expected ", to_string(wanted));
}

// Everything a kernel trusts; `gates` is how many of them a cell has.
void check_layer(const Tensor& input, std::initializer_list<const Tensor*> states, const Tensor& weight_ih,
                 const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh, IntList batch_sizes,
                 int64_t gates) {
  const Tensor& hidden = **states.begin();
  MT_CHECK(input.dim() == 2 && hidden.dim() == 2 && weight_ih.dim() == 2 && weight_hh.dim() == 2,
           "a recurrent layer takes matrices, but got an input of ", input.dim(), " dimensions, a state of ",
           hidden.dim(), " and weights of ", weight_ih.dim(), " and ", weight_hh.dim());
  check_same_device({&input, &hidden, &weight_ih, &weight_hh, &bias_ih, &bias_hh});
  for (const Tensor* t :
       {&input, states.begin()[0], states.begin()[states.size() - 1], &weight_hh, &bias_ih, &bias_hh})
    MT_CHECK(!t->defined() || t->dtype() == weight_ih.dtype(),
             "expected m1 and m2 to have the same dtype, but got: ", c_name(t->dtype()),
             " != ", c_name(weight_ih.dtype()));
  MT_CHECK_AS(not_implemented, is_floating(input.dtype()), "\"recurrent layer\" not implemented for '",
              info(input.dtype()).legacy, "'");
  MT_CHECK(input.sizes()[1] == weight_ih.sizes()[1], "mat1 and mat2 shapes cannot be multiplied (",
           input.sizes()[0], "x", input.sizes()[1], " and ", weight_ih.sizes()[1], "x", weight_ih.sizes()[0],
           ")");
  const int64_t width = hidden.sizes()[1];
  check_shape("weight_hh", weight_hh, Dims{gates * width, width});
  MT_CHECK(weight_ih.sizes()[0] == gates * width, "weight_ih first dim must be ", gates,
           " * hidden_size = ", gates * width, ", but got ", weight_ih.sizes()[0]);
  for (const Tensor* bias : {&bias_ih, &bias_hh})
    if (bias->defined()) check_shape("bias", *bias, Dims{gates * width});
  MT_CHECK(!batch_sizes.empty(), "Expected sequence length to be larger than 0 in RNN");
  int64_t rows = 0, before = batch_sizes[0];
  for (int64_t size : batch_sizes) {
    MT_CHECK(size > 0 || batch_sizes[0] == 0, "batch_sizes must be positive, but got ",
             to_string(batch_sizes));
    MT_CHECK(size <= before, "batch_sizes must not increase, but got ", to_string(batch_sizes));
    rows += before = size;
  }
  MT_CHECK(rows == input.sizes()[0], "batch_sizes must sum up to the rows of the data, ", input.sizes()[0],
           ", but got ", rows);
  for (const Tensor* state : states) check_shape("the hidden state", *state, Dims{batch_sizes[0], width});
}

void prepare(Output& out, int64_t rows, int64_t columns, const Tensor& like) {
  const int64_t sizes[] = {rows, columns};
  out.prepare(sizes, like.dtype(), like.device());
}

}  // namespace

void lstm_layer(const Tensor& input, const Tensor& hidden, const Tensor& cell, const Tensor& weight_ih,
                const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh, IntList batch_sizes,
                bool, Output& output, Output& last_hidden, Output& last_cell, Output& cells, Output& gates) {
  check_layer(input, {&hidden, &cell}, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, 4);
  const int64_t rows = input.sizes()[0], width = hidden.sizes()[1];
  prepare(output, rows, width, input);
  prepare(last_hidden, batch_sizes[0], width, input);
  prepare(last_cell, batch_sizes[0], width, input);
  prepare(cells, rows, width, input);
  prepare(gates, rows, 4 * width, input);
}

void lstm_layer_backward(const Tensor&, const Tensor&, const Tensor&, const Tensor& cell, const Tensor&,
                         const Tensor&, const Tensor& gates, IntList, bool, Output& grad_gates,
                         Output& grad_hidden, Output& grad_cell, Output& grad_bias) {
  prepare(grad_gates, gates.sizes()[0], gates.sizes()[1], gates);
  prepare(grad_hidden, cell.sizes()[0], cell.sizes()[1], cell);
  prepare(grad_cell, cell.sizes()[0], cell.sizes()[1], cell);
  grad_bias.prepare(gates.sizes().subspan(1), gates.dtype(), gates.device());
}

void gru_layer(const Tensor& input, const Tensor& hidden, const Tensor& weight_ih, const Tensor& weight_hh,
               const Tensor& bias_ih, const Tensor& bias_hh, IntList batch_sizes, bool, Output& output,
               Output& last_hidden, Output& states, Output& gates) {
  check_layer(input, {&hidden}, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, 3);
  const int64_t rows = input.sizes()[0], width = hidden.sizes()[1];
  prepare(output, rows, width, input);
  prepare(last_hidden, batch_sizes[0], width, input);
  prepare(states, rows, width, input);
  prepare(gates, rows, 4 * width, input);
}

void gru_layer_backward(const Tensor&, const Tensor&, const Tensor& hidden, const Tensor&,
                        const Tensor& states, const Tensor&, IntList, bool, Output& grad_input_gates,
                        Output& grad_hidden_gates, Output& grad_hidden) {
  const int64_t rows = states.sizes()[0], width = states.sizes()[1];
  prepare(grad_input_gates, rows, 3 * width, states);
  prepare(grad_hidden_gates, rows, 3 * width, states);
  prepare(grad_hidden, hidden.sizes()[0], width, hidden);
}

void rnn_layer(const Tensor& input, const Tensor& hidden, const Tensor& weight_ih, const Tensor& weight_hh,
               const Tensor& bias_ih, const Tensor& bias_hh, bool, IntList batch_sizes, bool, Output& output,
               Output& last_hidden, Output& states) {
  check_layer(input, {&hidden}, weight_ih, weight_hh, bias_ih, bias_hh, batch_sizes, 1);
  const int64_t rows = input.sizes()[0], width = hidden.sizes()[1];
  prepare(output, rows, width, input);
  prepare(last_hidden, batch_sizes[0], width, input);
  prepare(states, rows, width, input);
}

void rnn_layer_backward(const Tensor&, const Tensor&, const Tensor& hidden, const Tensor&,
                        const Tensor& states, bool, IntList, bool, Output& grad_gates, Output& grad_hidden) {
  prepare(grad_gates, states.sizes()[0], states.sizes()[1], states);
  prepare(grad_hidden, hidden.sizes()[0], hidden.sizes()[1], hidden);
}

}  // namespace mt::infer
