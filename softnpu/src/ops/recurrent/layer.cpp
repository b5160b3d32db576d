#include "ops/recurrent/layer.h"

#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/matmul/matmul.h"
#include "kernels/reduce/reduce.h"
#include "ops/common/temporary.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// The weights as kernels take them.
struct WeightViews {
  WeightViews(const LayerCall& call)
      : ih(call.weights.ih->view(call.executor)),
        hh(call.weights.hh->view(call.executor)),
        bias_ih(call.weights.bias_ih, call.executor),
        bias_hh(call.weights.bias_hh, call.executor) {}
  k::RecurrentWeights get() const { return {ih, hh, bias_ih.get(), bias_hh.get()}; }

  View ih, hh;
  OptionalView bias_ih, bias_hh;
};

int64_t width_of(const LayerCall& call) { return call.weights.hh->sizes[1]; }

// The parts of a matrix, each with the tensor that it belongs to.
using Parts = std::initializer_list<std::pair<const std::optional<Operand>*, int64_t>>;

void keep_parts(const LayerCall& call, const View& gates, int64_t width, const Parts& parts) {
  for (const auto& [tensor, place] : parts)
    if (*tensor)
      call.sequences.spread(Block::columns(gates, place * width, width).view, **tensor, call.executor);
}

void read_parts(const LayerCall& call, const View& gates, int64_t width, const Parts& parts) {
  for (const auto& [tensor, place] : parts)
    call.sequences.pack(**tensor, call.executor, Block::columns(gates, place * width, width).view);
}

// What a sequence has in `states` before its first and after its last step.
const View* unused_states(const LayerCall& call, const View& first, const View& last) {
  return !call.keeps_states ? nullptr : call.reverse ? &first : &last;
}

void multiply(const View& a, const View& b, const View& out, double beta = 0) {
  k::gemm(a, b, out, Scalar(1), Scalar(beta));
}

// out = a @ b, where out has a dtype of its own.
void multiply_into(const View& a, const View& b, const std::optional<Operand>& out, const aclOpExecutor& e) {
  if (!out) return;
  const WriteAs made(out->view(e), a.dtype);
  multiply(a, b, made.view());
  made.finish();
}

void sum_rows(const View& of, const std::optional<Operand>& out, const aclOpExecutor& e) {
  if (!out) return;
  const Operand row = unsqueezed(*out, 0);
  k::reduce<k::sum_op>(of, row.view(e));
}

// What follows from the gradients of the two products, [N, gates] each.
void finish_gradients(const LayerCall& call, const View& input, const View& before,
                      const View& to_input_gates, const View& to_hidden_gates,
                      const LayerGradients& gradients) {
  const aclOpExecutor& e = call.executor;
  const ReadAs weight(call.weights.ih->view(e), call.compute);
  multiply(to_input_gates, weight.view(), gradients.input, gradients.beta);
  multiply_into(Transposed(to_input_gates).view, input, gradients.weights.ih, e);
  multiply_into(Transposed(to_hidden_gates).view, before, gradients.weights.hh, e);
  sum_rows(to_input_gates, gradients.weights.bias_ih, e);
  sum_rows(to_hidden_gates, gradients.weights.bias_hh, e);
}

}  // namespace

void lstm_direction(const LayerCall& call, const View& input, const View& hidden, const View& cell,
                    const View& output, const View& last_hidden, const View& last_cell,
                    const LstmKept& kept) {
  const int64_t rows = call.sequences.total(), width = width_of(call);
  const k::Temporary gates({rows, 4 * width}, call.compute), cells({rows, width}, call.compute);
  const WeightViews weights(call);
  k::lstm_layer(input, hidden, cell, weights.get(), call.sequences.steps(call.reverse), output, last_hidden,
                last_cell, cells.view(), gates.view());
  keep_parts(call, gates.view(), width, {{&kept.in, 0}, {&kept.forget, 1}, {&kept.fresh, 2}, {&kept.out, 3}});
  if (kept.hidden)
    call.sequences.spread(output, *kept.hidden, call.executor, unused_states(call, hidden, last_hidden));
  if (kept.cell)
    call.sequences.spread(cells.view(), *kept.cell, call.executor, unused_states(call, cell, last_cell));
  if (!kept.bent_cell) return;
  k::unary<k::tanh_op>(cells.view(), cells.view());
  call.sequences.spread(cells.view(), *kept.bent_cell, call.executor);
}

void lstm_direction_backward(const LayerCall& call, const View& input, const View& hidden, const View& cell,
                             const LstmKept& kept, const LayerGradients& gradients, const View& grad_hidden,
                             const View& grad_cell) {
  const Sequences& sequences = call.sequences;
  const int64_t rows = sequences.total(), width = width_of(call);
  const k::Temporary gates({rows, 4 * width}, call.compute), to_gates({rows, 4 * width}, call.compute),
      before({rows, width}, call.compute), to_bias({4 * width}, call.compute);
  read_parts(call, gates.view(), width, {{&kept.in, 0}, {&kept.forget, 1}, {&kept.fresh, 2}, {&kept.out, 3}});
  const k::Temporary cells = sequences.packed(*kept.cell, call.executor, call.compute),
                     states = sequences.packed(*kept.hidden, call.executor, call.compute);
  const WeightViews weights(call);
  k::lstm_layer_backward(gradients.output, gradients.last_hidden, gradients.last_cell, cell, weights.hh,
                         cells.view(), gates.view(), sequences.steps(call.reverse), to_gates.view(),
                         grad_hidden, grad_cell, to_bias.view());
  sequences.states_before(states.view(), hidden, call.reverse, before.view());
  finish_gradients(call, input, before.view(), to_gates.view(), to_gates.view(), gradients);
}

void gru_direction(const LayerCall& call, const View& input, const View& hidden, const View& output,
                   const View& last_hidden, const GruKept& kept) {
  const int64_t rows = call.sequences.total(), width = width_of(call);
  const k::Temporary gates({rows, 4 * width}, call.compute), states({rows, width}, call.compute);
  const WeightViews weights(call);
  k::gru_layer(input, hidden, weights.get(), call.sequences.steps(call.reverse), output, last_hidden,
               states.view(), gates.view());
  keep_parts(call, gates.view(), width,
             {{&kept.reset, 0}, {&kept.update, 1}, {&kept.fresh, 2}, {&kept.hidden_part, 3}});
  if (kept.hidden)
    call.sequences.spread(states.view(), *kept.hidden, call.executor,
                          unused_states(call, hidden, last_hidden));
}

void gru_direction_backward(const LayerCall& call, const View& input, const View& hidden, const GruKept& kept,
                            const LayerGradients& gradients, const View& grad_hidden) {
  const Sequences& sequences = call.sequences;
  const int64_t rows = sequences.total(), width = width_of(call);
  const k::Temporary gates({rows, 4 * width}, call.compute), to_input({rows, 3 * width}, call.compute),
      to_hidden({rows, 3 * width}, call.compute), before({rows, width}, call.compute);
  read_parts(call, gates.view(), width,
             {{&kept.reset, 0}, {&kept.update, 1}, {&kept.fresh, 2}, {&kept.hidden_part, 3}});
  const k::Temporary states = sequences.packed(*kept.hidden, call.executor, call.compute);
  const WeightViews weights(call);
  k::gru_layer_backward(gradients.output, gradients.last_hidden, hidden, weights.hh, states.view(),
                        gates.view(), sequences.steps(call.reverse), to_input.view(), to_hidden.view(),
                        grad_hidden);
  sequences.states_before(states.view(), hidden, call.reverse, before.view());
  finish_gradients(call, input, before.view(), to_input.view(), to_hidden.view(), gradients);
}

}  // namespace softnpu::ops
