// Long short-term memories of several layers, and their gradients.
#include "op_plans.h"
#include "ops/recurrent/stack.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

struct LstmLists {
  std::vector<Operand> in, fresh, forget, out, hidden, cell, bent_cell;

  LstmKept at(int64_t i) const {
    return {entry_at(in, i),     entry_at(fresh, i), entry_at(forget, i),   entry_at(out, i),
            entry_at(hidden, i), entry_at(cell, i),  entry_at(bent_cell, i)};
  }
};

// The states before the first step: hidden and cell, or none.
struct FirstStates {
  std::optional<Operand> hidden, cell;

  static FirstStates read(Plan& plan, const aclTensorList* list) {
    if (list == nullptr) {
      plan.optional_input(nullptr, "hx");
      return {};
    }
    const std::vector<Operand> both = plan.inputs(list, "hx");
    if (both.empty()) return {};
    if (both.size() != 2) plan.invalid("'hx' has ", both.size(), " tensors, wanted 2");
    for (const Operand& state : both) plan.require_ndim(state, "hx", 3);
    return {both[0], both[1]};
  }
};

}  // namespace

// dropout has no effect, as on the card.
void LSTM(Plan& plan, const aclTensor* input, const aclTensorList* params, const aclTensorList* hx,
          const aclTensor* batchSizes, bool hasBias, int64_t numLayers, double dropout, bool train,
          bool bidirectional, bool batchFirst, aclTensor* output, aclTensor* hy, aclTensor* cy,
          aclTensorList* iOut, aclTensorList* jOut, aclTensorList* fOut, aclTensorList* oOut,
          aclTensorList* hOut, aclTensorList* cOut, aclTensorList* tanhCOut) {
  RecurrentStack stack(plan, {input, hasBias, numLayers, bidirectional, batchFirst, 4});
  stack.read_params(plan, params);
  const FirstStates first = FirstStates::read(plan, hx);
  stack.read_lengths(plan, batchSizes);
  const Operand out = stack.time_first(plan.output(output, "output")), last_hidden = plan.output(hy, "hy"),
                last_cell = plan.output(cy, "cy");
  plan.require_ndim(last_hidden, "hy", 3);
  stack.finish(plan, last_hidden.sizes[1]);
  stack.require_rows(plan, out, "output", stack.directions() * stack.width());
  stack.require_state(plan, last_hidden, "hy");
  stack.require_state(plan, last_cell, "cy");
  if (first.hidden) stack.require_state(plan, *first.hidden, "hx");
  if (first.cell) stack.require_state(plan, *first.cell, "hx");
  const auto listed = [&](const aclTensorList* list, const char* name) {
    return stack.kept_outputs(plan, list, name, train);
  };
  const LstmLists kept{listed(iOut, "iOut"),        listed(jOut, "jOut"), listed(fOut, "fOut"),
                       listed(oOut, "oOut"),        listed(hOut, "hOut"), listed(cOut, "cOut"),
                       listed(tanhCOut, "tanhCOut")};
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
        const FirstState hidden(state_at(first.hidden, i), e, stack.batch(), width, compute),
            cell(state_at(first.cell, i), e, stack.batch(), width, compute);
        const Operand hidden_end = selected(last_hidden, 0, i), cell_end = selected(last_cell, 0, i);
        lstm_direction({e, sequences, d == 1, compute, weights}, rows->view(), hidden.view(), cell.view(),
                       Block::columns(made.view(), d * width, width).view, hidden_end.view(e),
                       cell_end.view(e), kept.at(i));
      }
      rows.emplace(std::move(made));
    }
    sequences.spread(rows->view(), out, e);
  });
}

void LstmBackward(Plan& plan, const aclTensor* input, const aclTensorList* hx, const aclTensorList* params,
                  const aclTensor* dy, const aclTensor* dh, const aclTensor* dc, const aclTensorList* i,
                  const aclTensorList* g, const aclTensorList* f, const aclTensorList* o,
                  const aclTensorList* h, const aclTensorList* c, const aclTensorList* tanhc,
                  const aclTensor* batchSizesOptional, bool hasBias, int64_t numLayers, double dropout,
                  bool train, bool bidirectional, bool batchFirst, const aclBoolArray* outputMask,
                  aclTensor* dxOut, aclTensor* dhPrevOut, aclTensor* dcPrevOut, aclTensorList* dparamsOut) {
  RecurrentStack stack(plan, {input, hasBias, numLayers, bidirectional, batchFirst, 4});
  const FirstStates first = FirstStates::read(plan, hx);
  stack.read_params(plan, params);
  std::optional<Operand> grad = plan.optional_input(dy, "dy");
  if (grad) grad = stack.time_first(*grad);
  const std::optional<Operand> grad_hidden = plan.optional_input(dh, "dh"),
                               grad_cell = plan.optional_input(dc, "dc");
  if (!first.hidden) plan.null_argument("hx");
  // The lists are read before the lengths, and checked after.
  const auto listed = [&](const aclTensorList* list, const char* name) { return plan.inputs(list, name); };
  LstmLists kept{listed(i, "i"), listed(g, "g"), listed(f, "f"),        listed(o, "o"),
                 listed(h, "h"), listed(c, "c"), listed(tanhc, "tanhc")};
  stack.read_lengths(plan, batchSizesOptional);
  stack.finish(plan, first.hidden->sizes[1]);
  const Operand to_input = stack.time_first(plan.output(dxOut, "dxOut")),
                to_hidden = plan.output(dhPrevOut, "dhPrevOut"),
                to_cell = plan.output(dcPrevOut, "dcPrevOut");
  const std::vector<Operand> to_params = stack.gradients(plan, dparamsOut);
  for (const auto& [list, name] :
       {std::pair{&kept.in, "i"}, std::pair{&kept.fresh, "g"}, std::pair{&kept.forget, "f"},
        std::pair{&kept.out, "o"}, std::pair{&kept.hidden, "h"}, std::pair{&kept.cell, "c"},
        std::pair{&kept.bent_cell, "tanhc"}})
    stack.require_kept(plan, *list, name);
  if (grad) stack.require_rows(plan, *grad, "dy", stack.directions() * stack.width());
  stack.require_rows(plan, to_input, "dxOut", stack.inputs(0));
  for (const auto& [state, name] :
       {std::pair{first.hidden, "hx"}, std::pair{first.cell, "hx"}, std::pair{grad_hidden, "dh"},
        std::pair{grad_cell, "dc"}, std::pair{std::optional(to_hidden), "dhPrevOut"},
        std::pair{std::optional(to_cell), "dcPrevOut"}})
    if (state) stack.require_state(plan, *state, name);
  plan.run([=, held = std::make_shared<const RecurrentStack>(stack)](const aclOpExecutor& e) {
    const RecurrentStack& stack = *held;
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
        const FirstState hidden(state_at(first.hidden, at), e, stack.batch(), width, compute),
            cell(state_at(first.cell, at), e, stack.batch(), width, compute);
        const std::optional<Operand> end_hidden = state_at(grad_hidden, at),
                                     end_cell = state_at(grad_cell, at);
        const OptionalView of_hidden(end_hidden, e), of_cell(end_cell, e);
        const Operand first_hidden = selected(to_hidden, 0, at), first_cell = selected(to_cell, 0, at);
        const k::Temporary own({rows, width}, compute);
        if (above) k::copy(Block::columns(above->view(), d * width, width).view, own.view());
        lstm_direction_backward({e, sequences, d == 1, compute, weights}, from.view(), hidden.view(),
                                cell.view(), kept.at(at),
                                {above ? &own.view() : nullptr, of_hidden.get(), of_cell.get(), below.view(),
                                 d == 0 ? 0.0 : 1.0, to_weights},
                                first_hidden.view(e), first_cell.view(e));
      }
      above.emplace(std::move(below));
    }
    sequences.spread(above->view(), to_input, e);
  });
}

}  // namespace softnpu::ops
