#include "ops/recurrent/old_interface.h"

#include "ops/common/entry.h"
#include "ops/common/temporary.h"
#include "ops/recurrent/layer.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// A layer that has been read and checked.
struct Layer {
  Operand input;
  LayerWeights weights;
  std::optional<Operand> mask, hidden, cell;
  bool reverse;
  int64_t width, batch, steps;

  Layer(Plan& plan, const OldLayer& a, int64_t gates)
      : input(plan.input(a.input, "x")),
        weights{plan.input(a.weight_ih, "weight_input"), plan.input(a.weight_hh, "weight_hidden"),
                plan.optional_input(a.bias_ih, "bias"), plan.optional_input(a.bias_hh, "bias_hidden")},
        mask(plan.optional_input(a.mask, "seq_length")),
        hidden(plan.optional_input(a.hidden, "init_h")),
        cell(plan.optional_input(a.cell, "init_c")),
        reverse(a.reverse) {
    plan.require_ndim(input, "x", 3);
    plan.require_dtype(input, "x", domains::floating);
    plan.require_ndim(*weights.hh, "weight_hidden", 2);
    width = weights.hh->sizes[1], batch = input.sizes[1], steps = input.sizes[0];
    plan.require_shape(*weights.ih, "weight_input", {gates * width, input.sizes[2]});
    plan.require_shape(*weights.hh, "weight_hidden", {gates * width, width});
    for (const auto& bias : {weights.bias_ih, weights.bias_hh})
      if (bias) plan.require_shape(*bias, "bias", {gates * width});
    for (const auto& state : {hidden, cell})
      if (state) plan.require_shape(*state, "init_h", {batch, width});
    if (mask) plan.require_shape(*mask, "seq_length", {steps, batch, width});
  }

  DType compute() const { return compute_dtype(input.dtype); }
  FirstState first(const std::optional<Operand>& state, const aclOpExecutor& e) const {
    return FirstState(state, e, batch, width, compute());
  }
  std::optional<Operand> rows(Plan& plan, const aclTensor* tensor, const char* name, bool output) const {
    const std::optional<Operand> operand =
        output ? plan.optional_output(tensor, name) : plan.optional_input(tensor, name);
    if (operand) plan.require_shape(*operand, name, {steps, batch, width});
    return operand;
  }
  std::optional<Operand> state(Plan& plan, const aclTensor* tensor, const char* name, bool output) const {
    const std::optional<Operand> operand =
        output ? plan.optional_output(tensor, name) : plan.optional_input(tensor, name);
    if (operand) plan.require_shape(*operand, name, {batch, width});
    return operand;
  }

  // How many sequences each step has; they are sorted by their length.
  Sequences sequences(const aclOpExecutor& e) const {
    std::vector<int64_t> counts(size_t(steps), batch);
    if (!mask) return Sequences(counts, batch);
    const k::DenseInput<float> goes_on(mask->view(e));
    for (int64_t t = 0; t < steps; ++t) {
      int64_t& count = counts[size_t(t)] = 0;
      for (int64_t b = 0; b < batch; ++b) {
        if (goes_on[(t * batch + b) * width] == 0) continue;
        MT_CHECK(count == b, "the mask 'seq_length' wants sequences sorted by length: at step ", t,
                 " sequence ", b, " goes on but one before it has ended");
        ++count;
      }
    }
    return Sequences(counts, batch);
  }
};

LstmKept lstm_kept(Plan& plan, const Layer& layer, const OldLstm& a, bool output) {
  return {layer.rows(plan, a.in, "i", output),
          layer.rows(plan, a.fresh, "j", output),
          layer.rows(plan, a.forget, "f", output),
          layer.rows(plan, a.out, "o", output),
          layer.rows(plan, a.hidden, "output_h", output),
          layer.rows(plan, a.cell, "output_c", output),
          layer.rows(plan, a.bent_cell, "tanhc", output)};
}

GruKept gru_kept(Plan& plan, const Layer& layer, const OldGru& a, bool output) {
  return {layer.rows(plan, a.reset, "reset", output), layer.rows(plan, a.update, "update", output),
          layer.rows(plan, a.fresh, "new", output), layer.rows(plan, a.hidden_part, "hidden_new", output),
          layer.rows(plan, a.hidden, "output_h", output)};
}

// A state's gradient that may have no place to go.
class MaybeState {
 public:
  MaybeState(const std::optional<Operand>& to, const aclOpExecutor& e, const Layer& layer)
      : made_({layer.batch, layer.width}, layer.compute()), to_(to), executor_(e) {}
  const View& view() const { return made_.view(); }
  void store() const {
    if (to_) k::copy(made_.view(), to_->view(executor_));
  }

 private:
  k::Temporary made_;
  const std::optional<Operand>& to_;
  const aclOpExecutor& executor_;
};

}  // namespace

aclnnStatus plan_old_lstm(const OldLstm& a, uint64_t* workspace, aclOpExecutor** executor) {
  return plan_operator({a.layer.name, a.layer.name}, workspace, executor, [&](Plan& plan) {
    const auto layer = std::make_shared<const Layer>(plan, a.layer, 4);
    const std::optional<Operand> out = layer->rows(plan, a.output, "y", true);
    const auto kept = std::make_shared<const LstmKept>(lstm_kept(plan, *layer, a, true));
    plan.run([=](const aclOpExecutor& e) {
      const Sequences sequences = layer->sequences(e);
      const k::Temporary input = sequences.packed(layer->input, e, layer->compute()),
                         made({sequences.total(), layer->width}, layer->compute()),
                         last_hidden({layer->batch, layer->width}, layer->compute()),
                         last_cell({layer->batch, layer->width}, layer->compute());
      const FirstState hidden = layer->first(layer->hidden, e), cell = layer->first(layer->cell, e);
      lstm_direction({e, sequences, layer->reverse, layer->compute(), layer->weights, true}, input.view(),
                     hidden.view(), cell.view(), made.view(), last_hidden.view(), last_cell.view(), *kept);
      if (out) sequences.spread(made.view(), *out, e);
    });
  });
}

aclnnStatus plan_old_lstm_gradient(const OldLstm& a, const OldLstmGradient& g, uint64_t* workspace,
                                   aclOpExecutor** executor) {
  return plan_operator({a.layer.name, a.layer.name}, workspace, executor, [&](Plan& plan) {
    struct Held {
      Layer layer;
      LstmKept kept;
      std::optional<Operand> output, last_hidden, last_cell;
      LayerWeights to_weights;
      Operand to_input;
      std::optional<Operand> to_hidden, to_cell;
    };
    const Layer layer(plan, a.layer, 4);
    const LstmKept kept = lstm_kept(plan, layer, a, false);
    if (!kept.in || !kept.fresh || !kept.forget || !kept.out || !kept.hidden || !kept.cell)
      plan.null_argument("i, j, f, o, h or c");
    const auto held = std::make_shared<const Held>(
        Held{layer,
             kept,
             layer.rows(plan, g.output, "dy", false),
             layer.state(plan, g.last_hidden, "dh", false),
             layer.state(plan, g.last_cell, "dc", false),
             {plan.output(g.to_weight_ih, "dw_input"), plan.output(g.to_weight_hh, "dw_hidden"),
              plan.optional_output(g.to_bias, "db"), std::nullopt},
             plan.output(g.to_input, "dx"),
             layer.state(plan, g.to_hidden, "dh_prev", true),
             layer.state(plan, g.to_cell, "dc_prev", true)});
    plan.require_same_shape(*held->to_weights.ih, "dw_input", *layer.weights.ih, "weight_input");
    plan.require_same_shape(*held->to_weights.hh, "dw_hidden", *layer.weights.hh, "weight_hidden");
    if (held->to_weights.bias_ih) plan.require_shape(*held->to_weights.bias_ih, "db", {4 * layer.width});
    plan.require_same_shape(held->to_input, "dx", layer.input, "x");
    plan.run([held](const aclOpExecutor& e) {
      const Layer& layer = held->layer;
      const Sequences sequences = layer.sequences(e);
      const k::Temporary input = sequences.packed(layer.input, e, layer.compute()),
                         to_input({sequences.total(), layer.input.sizes[2]}, layer.compute());
      const FirstState hidden = layer.first(layer.hidden, e), cell = layer.first(layer.cell, e);
      std::optional<k::Temporary> output;
      if (held->output) output.emplace(sequences.packed(*held->output, e, layer.compute()));
      const OptionalView last_hidden(held->last_hidden, e), last_cell(held->last_cell, e);
      const MaybeState to_hidden(held->to_hidden, e, layer), to_cell(held->to_cell, e, layer);
      lstm_direction_backward({e, sequences, layer.reverse, layer.compute(), layer.weights}, input.view(),
                              hidden.view(), cell.view(), held->kept,
                              {output ? &output->view() : nullptr, last_hidden.get(), last_cell.get(),
                               to_input.view(), 0, held->to_weights},
                              to_hidden.view(), to_cell.view());
      sequences.spread(to_input.view(), held->to_input, e);
      to_hidden.store();
      to_cell.store();
    });
  });
}

aclnnStatus plan_old_gru(const OldGru& a, uint64_t* workspace, aclOpExecutor** executor) {
  return plan_operator({a.layer.name, a.layer.name}, workspace, executor, [&](Plan& plan) {
    const auto layer = std::make_shared<const Layer>(plan, a.layer, 3);
    const std::optional<Operand> out = layer->rows(plan, a.output, "y", true);
    const auto kept = std::make_shared<const GruKept>(gru_kept(plan, *layer, a, true));
    plan.run([=](const aclOpExecutor& e) {
      const Sequences sequences = layer->sequences(e);
      const k::Temporary input = sequences.packed(layer->input, e, layer->compute()),
                         made({sequences.total(), layer->width}, layer->compute()),
                         last({layer->batch, layer->width}, layer->compute());
      const FirstState hidden = layer->first(layer->hidden, e);
      gru_direction({e, sequences, layer->reverse, layer->compute(), layer->weights, true}, input.view(),
                    hidden.view(), made.view(), last.view(), *kept);
      if (out) sequences.spread(made.view(), *out, e);
    });
  });
}

aclnnStatus plan_old_gru_gradient(const OldGru& a, const OldGruGradient& g, uint64_t* workspace,
                                  aclOpExecutor** executor) {
  return plan_operator({a.layer.name, a.layer.name}, workspace, executor, [&](Plan& plan) {
    struct Held {
      Layer layer;
      GruKept kept;
      std::optional<Operand> output, last_hidden;
      LayerWeights to_weights;
      Operand to_input;
      std::optional<Operand> to_hidden;
    };
    const Layer layer(plan, a.layer, 3);
    const GruKept kept = gru_kept(plan, layer, a, false);
    if (!kept.reset || !kept.update || !kept.fresh || !kept.hidden_part || !kept.hidden)
      plan.null_argument("h, update, reset, new or hidden_new");
    const auto held = std::make_shared<const Held>(Held{
        layer,
        kept,
        layer.rows(plan, g.output, "dy", false),
        layer.state(plan, g.last_hidden, "dh", false),
        {plan.output(g.to_weight_ih, "dw_input"), plan.output(g.to_weight_hh, "dw_hidden"),
         plan.optional_output(g.to_bias_ih, "db_input"), plan.optional_output(g.to_bias_hh, "db_hidden")},
        plan.output(g.to_input, "dx"),
        layer.state(plan, g.to_hidden, "dh_prev", true)});
    plan.require_same_shape(*held->to_weights.ih, "dw_input", *layer.weights.ih, "weight_input");
    plan.require_same_shape(*held->to_weights.hh, "dw_hidden", *layer.weights.hh, "weight_hidden");
    for (const auto& bias : {held->to_weights.bias_ih, held->to_weights.bias_hh})
      if (bias) plan.require_shape(*bias, "db", {3 * layer.width});
    plan.require_same_shape(held->to_input, "dx", layer.input, "x");
    plan.run([held](const aclOpExecutor& e) {
      const Layer& layer = held->layer;
      const Sequences sequences = layer.sequences(e);
      const k::Temporary input = sequences.packed(layer.input, e, layer.compute()),
                         to_input({sequences.total(), layer.input.sizes[2]}, layer.compute());
      const FirstState hidden = layer.first(layer.hidden, e);
      std::optional<k::Temporary> output;
      if (held->output) output.emplace(sequences.packed(*held->output, e, layer.compute()));
      const OptionalView last_hidden(held->last_hidden, e);
      const MaybeState to_hidden(held->to_hidden, e, layer);
      gru_direction_backward({e, sequences, layer.reverse, layer.compute(), layer.weights}, input.view(),
                             hidden.view(), held->kept,
                             {output ? &output->view() : nullptr, last_hidden.get(), nullptr, to_input.view(),
                              0, held->to_weights},
                             to_hidden.view());
      sequences.spread(to_input.view(), held->to_input, e);
      to_hidden.store();
    });
  });
}

aclnnStatus launch_old_layer(const char* name, void* workspace, uint64_t workspace_size,
                             aclOpExecutor* executor, aclrtStream stream) {
  return launch_operator(name, workspace, workspace_size, executor, stream);
}

}  // namespace softnpu::ops
