// Gated recurrent units of several layers, and their gradients.
#include "op_plans.h"
#include "ops/recurrent/stack.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

struct GruLists {
  std::vector<Operand> reset, update, fresh, hidden_part, hidden;

  GruKept at(int64_t i) const {
    return {entry_at(reset, i), entry_at(update, i), entry_at(fresh, i), entry_at(hidden_part, i),
            entry_at(hidden, i)};
  }
};

}  // namespace

// dropout has no effect, as on the card.
void GRU(Plan& plan, const aclTensor* input, const aclTensorList* params, const aclTensor* hx,
         const aclTensor* batchSizes, bool hasBias, int64_t numLayers, double dropout, bool train,
         bool bidirection, bool batchFirst, aclTensor* output, aclTensor* hy, aclTensorList* rOut,
         aclTensorList* zOut, aclTensorList* nOut, aclTensorList* hnOut, aclTensorList* hOut) {
  RecurrentStack stack(plan, {input, hasBias, numLayers, bidirection, batchFirst, 3});
  stack.read_params(plan, params);
  const std::optional<Operand> first = unless_empty(plan.optional_input(hx, "hx"));
  stack.read_lengths(plan, batchSizes);
  const Operand out = stack.time_first(plan.output(output, "output")), last = plan.output(hy, "hy");
  plan.require_ndim(last, "hy", 3);
  stack.finish(plan, last.sizes[1]);
  stack.require_rows(plan, out, "output", stack.directions() * stack.width());
  stack.require_state(plan, last, "hy");
  if (first) stack.require_state(plan, *first, "hx");
  const auto listed = [&](const aclTensorList* list, const char* name) {
    return stack.kept_outputs(plan, list, name, train);
  };
  const GruLists kept{listed(rOut, "rOut"), listed(zOut, "zOut"), listed(nOut, "nOut"),
                      listed(hnOut, "hnOut"), listed(hOut, "hOut")};
  plan.run([=](const aclOpExecutor& e) {
    const Sequences sequences = stack.sequences(e);
    const int64_t width = stack.width(), directions = stack.directions();
    const DType compute = stack.compute();
    std::optional<k::Temporary> rows(sequences.packed(stack.input(), e, compute));
    for (int64_t layer = 0; layer < stack.layers(); ++layer) {
      k::Temporary made({sequences.total(), directions * width}, compute);
      for (int64_t d = 0; d < directions; ++d) {
        const int64_t i = layer * directions + d;
        const LayerWeights weights = stack.weights(i);
        const FirstState hidden(state_at(first, i), e, stack.batch(), width, compute);
        const Operand end = selected(last, 0, i);
        gru_direction({e, sequences, d == 1, compute, weights}, rows->view(), hidden.view(),
                      Block::columns(made.view(), d * width, width).view, end.view(e), kept.at(i));
      }
      rows.emplace(std::move(made));
    }
    sequences.spread(rows->view(), out, e);
  });
}

void GRUBackward(Plan& plan, const aclTensor* input, const aclTensorList* params, const aclTensor* hx,
                 const aclTensor* dy, const aclTensor* dh, const aclTensorList* r, const aclTensorList* z,
                 const aclTensorList* n, const aclTensorList* hn, const aclTensorList* h,
                 const aclTensor* batchSizes, bool hasBias, int64_t numLayers, bool bidirection,
                 bool batchFirst, aclTensor* dxOut, aclTensor* dhPrevOut, aclTensorList* dparamsOut) {
  RecurrentStack stack(plan, {input, hasBias, numLayers, bidirection, batchFirst, 3});
  stack.read_params(plan, params);
  const Operand first = plan.input(hx, "hx");
  plan.require_ndim(first, "hx", 3);
  std::optional<Operand> grad = plan.optional_input(dy, "dy");
  if (grad) grad = stack.time_first(*grad);
  const std::optional<Operand> grad_last = plan.optional_input(dh, "dh");
  const GruLists kept{plan.inputs(r, "r"), plan.inputs(z, "z"), plan.inputs(n, "n"), plan.inputs(hn, "hn"),
                      plan.inputs(h, "h")};
  stack.read_lengths(plan, batchSizes);
  stack.finish(plan, first.sizes[1]);
  const Operand to_input = stack.time_first(plan.output(dxOut, "dxOut")),
                to_first = plan.output(dhPrevOut, "dhPrevOut");
  const std::vector<Operand> to_params = stack.gradients(plan, dparamsOut);
  for (const auto& [list, name] :
       {std::pair{&kept.reset, "r"}, std::pair{&kept.update, "z"}, std::pair{&kept.fresh, "n"},
        std::pair{&kept.hidden_part, "hn"}, std::pair{&kept.hidden, "h"}})
    stack.require_kept(plan, *list, name);
  if (grad) stack.require_rows(plan, *grad, "dy", stack.directions() * stack.width());
  stack.require_rows(plan, to_input, "dxOut", stack.inputs(0));
  stack.require_state(plan, first, "hx");
  stack.require_state(plan, to_first, "dhPrevOut");
  if (grad_last) stack.require_state(plan, *grad_last, "dh");
  plan.run([=](const aclOpExecutor& e) {
    const Sequences sequences = stack.sequences(e);
    const int64_t width = stack.width(), directions = stack.directions(), rows = sequences.total();
    const DType compute = stack.compute();
    std::optional<k::Temporary> above;
    if (grad) above.emplace(sequences.packed(*grad, e, compute));
    for (int64_t layer = stack.layers(); layer-- > 0;) {
      const k::Temporary from = stack.layer_input(e, sequences, layer, kept.hidden);
      k::Temporary below({rows, stack.inputs(layer)}, compute);
      for (int64_t d = 0; d < directions; ++d) {
        const int64_t at = layer * directions + d;
        const LayerWeights weights = stack.weights(at), to_weights = stack.weights(to_params, at);
        const FirstState hidden(selected(first, 0, at), e, stack.batch(), width, compute);
        const std::optional<Operand> end = state_at(grad_last, at);
        const OptionalView of_last(end, e);
        const Operand begin = selected(to_first, 0, at);
        const k::Temporary own({rows, width}, compute);
        if (above) k::copy(Block::columns(above->view(), d * width, width).view, own.view());
        gru_direction_backward({e, sequences, d == 1, compute, weights}, from.view(), hidden.view(),
                               kept.at(at),
                               {above ? &own.view() : nullptr, of_last.get(), nullptr, below.view(),
                                d == 0 ? 0.0 : 1.0, to_weights},
                               begin.view(e));
      }
      above.emplace(std::move(below));
    }
    sequences.spread(above->view(), to_input, e);
  });
}

}  // namespace softnpu::ops
