#include "autograd/formulas/recurrent_steps.h"

#include "autograd/formulas/common.h"
#include "generated/ops/activation.h"
#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/matmul.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/shape.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"

namespace mt::recurrent {
namespace {

using namespace mt::formulas;

Tensor rows(const Tensor& t, int64_t begin, int64_t end) {
  return begin == 0 && end == t.size(0) ? t : slice(t, 0, begin, end, 1);
}
Tensor joined(const std::vector<Tensor>& parts) { return parts.size() == 1 ? parts[0] : cat(parts, 0); }

// The steps in the order in which they are taken.
size_t place(size_t turn, IntList batch_sizes, bool reverse) {
  return reverse ? batch_sizes.size() - 1 - turn : turn;
}

// A state on its way through the steps. Sequences end as steps get fewer rows, and in reverse begin as they get more.
class Running {
 public:
  explicit Running(const Tensor& first) : first_(first) {}
  // Of the rows of the next step.
  Tensor before(int64_t count) {
    if (!now_.defined()) return rows(first_, 0, count);
    const int64_t running = now_.size(0);
    if (count > running) return joined({now_, rows(first_, running, count)});
    if (count < running) ended_.push_back(rows(now_, count, running));
    return rows(now_, 0, count);
  }
  void after(const Tensor& state) { now_ = state; }
  Tensor last() const {
    std::vector<Tensor> parts{now_};
    parts.insert(parts.end(), ended_.rbegin(), ended_.rend());
    return parts.size() == 1 ? clone(now_, std::nullopt) : cat(parts, 0);
  }

 private:
  Tensor first_, now_;
  std::vector<Tensor> ended_;
};

// The gradient of a state on its way back: rows that a step does not have wait for the one that has them.
class Returning {
 public:
  Returning(const Tensor& of_last, const Tensor& like)
      : now_(of_last.defined() ? of_last : zeros_like(like)) {}
  Tensor of(int64_t count) const { return rows(now_, 0, count); }
  void before(const Tensor& made) {
    const int64_t count = made.size(0), all = now_.size(0);
    now_ = count == all ? made : joined({made, rows(now_, count, all)});
  }
  const Tensor& first() const { return now_; }

 private:
  Tensor now_;
};

// A tensor cut into its steps; undefined ones where there is none.
std::vector<Tensor> by_step(const Tensor& packed, IntList batch_sizes) {
  if (!packed.defined()) return std::vector<Tensor>(batch_sizes.size());
  return split_with_sizes(packed, batch_sizes, 0);
}

// The gates of a step, [rows, W] each.
std::vector<Tensor> parts(const Tensor& gates, int64_t count) {
  if (!gates.defined()) return std::vector<Tensor>(size_t(count));
  return unbind(unflatten(gates, 1, Dims{count, -1}), 1);
}

Tensor one_minus(const Tensor& x) { return rsub(x, Scalar(1), Scalar(1)); }
// Through a sigmoid or tanh whose value is known.
Tensor through_sigmoid(const Tensor& grad, const Tensor& value) { return grad * value * one_minus(value); }
Tensor through_tanh(const Tensor& grad, const Tensor& value) { return grad * one_minus(value * value); }

}  // namespace

Tensor sum_of_defined(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? a + b : a;
}

LstmRun lstm_steps(const Tensor& sums, const Tensor& hidden, const Tensor& cell, const Tensor& weight_hh,
                   const Tensor& projection, IntList batch_sizes, bool reverse) {
  const size_t count = batch_sizes.size();
  std::vector<Tensor> outputs(count), cells(count), gates(count);
  const std::vector<Tensor> steps = by_step(sums, batch_sizes);
  const Tensor weight = t(weight_hh);
  Running state(hidden), memory(cell);
  for (size_t turn = 0; turn < count; ++turn) {
    const size_t now = place(turn, batch_sizes, reverse);
    const Tensor before = memory.before(batch_sizes[now]);
    const std::vector<Tensor> gate =
        parts(addmm(steps[now], state.before(batch_sizes[now]), weight, Scalar(1), Scalar(1)), 4);
    const Tensor in = sigmoid(gate[0]), forget = sigmoid(gate[1]), fresh = tanh(gate[2]),
                 out = sigmoid(gate[3]);
    cells[now] = addcmul(forget * before, in, fresh, Scalar(1));
    outputs[now] = out * tanh(cells[now]);
    if (projection.defined()) outputs[now] = linear(outputs[now], projection, Tensor());
    else gates[now] = cat(std::vector<Tensor>{in, forget, fresh, out}, 1);
    state.after(outputs[now]);
    memory.after(cells[now]);
  }
  return {joined(outputs), state.last(), memory.last(), joined(cells),
          projection.defined() ? Tensor() : joined(gates)};
}

GruRun gru_steps(const Tensor& sums, const Tensor& hidden, const Tensor& weight_hh, const Tensor& bias_hh,
                 IntList batch_sizes, bool reverse) {
  const size_t count = batch_sizes.size();
  std::vector<Tensor> outputs(count), gates(count);
  const std::vector<Tensor> steps = by_step(sums, batch_sizes);
  Running state(hidden);
  for (size_t turn = 0; turn < count; ++turn) {
    const size_t now = place(turn, batch_sizes, reverse);
    const Tensor before = state.before(batch_sizes[now]);
    const std::vector<Tensor> theirs = parts(steps[now], 3),
                              ours = parts(linear(before, weight_hh, bias_hh), 3);
    const Tensor reset = sigmoid(theirs[0] + ours[0]), update = sigmoid(theirs[1] + ours[1]);
    const Tensor fresh = tanh(addcmul(theirs[2], reset, ours[2], Scalar(1)));
    outputs[now] = addcmul(fresh, before - fresh, update, Scalar(1));
    gates[now] = cat(std::vector<Tensor>{reset, update, fresh, ours[2]}, 1);
    state.after(outputs[now]);
  }
  return {joined(outputs), state.last(), joined(gates)};
}

RnnRun rnn_steps(const Tensor& sums, const Tensor& hidden, const Tensor& weight_hh, bool relu,
                 IntList batch_sizes, bool reverse) {
  const size_t count = batch_sizes.size();
  std::vector<Tensor> outputs(count);
  const std::vector<Tensor> steps = by_step(sums, batch_sizes);
  const Tensor weight = t(weight_hh);
  Running state(hidden);
  for (size_t turn = 0; turn < count; ++turn) {
    const size_t now = place(turn, batch_sizes, reverse);
    const Tensor sum = addmm(steps[now], state.before(batch_sizes[now]), weight, Scalar(1), Scalar(1));
    outputs[now] = relu ? ops::relu(sum) : tanh(sum);
    state.after(outputs[now]);
  }
  return {joined(outputs), state.last()};
}

LstmGradients lstm_steps_backward(const LstmResultGradients& grads, const Tensor& cell,
                                  const Tensor& weight_hh, const Tensor& cells, const Tensor& gates,
                                  IntList batch_sizes, bool reverse) {
  const size_t count = batch_sizes.size();
  const std::vector<Tensor> of_output = by_step(grads.output, batch_sizes),
                            of_cells = by_step(grads.cells, batch_sizes),
                            of_gates = by_step(grads.gates, batch_sizes), state = by_step(cells, batch_sizes),
                            kept = by_step(gates, batch_sizes),
                            before = by_step(states_before(cells, cell, batch_sizes, reverse), batch_sizes);
  std::vector<Tensor> made(count);
  Returning to_hidden(grads.last_hidden, cell), to_cell(grads.last_cell, cell);
  for (size_t turn = count; turn-- > 0;) {
    const size_t now = place(turn, batch_sizes, reverse);
    const std::vector<Tensor> gate = parts(kept[now], 4), extra = parts(of_gates[now], 4);
    const Tensor &in = gate[0], &forget = gate[1], &fresh = gate[2], &out = gate[3];
    const Tensor bent = tanh(state[now]);
    const Tensor hidden = sum_of_defined(to_hidden.of(batch_sizes[now]), of_output[now]);
    const Tensor memory =
        sum_of_defined(to_cell.of(batch_sizes[now]), of_cells[now]) + through_tanh(hidden * out, bent);
    made[now] =
        cat(std::vector<Tensor>{through_sigmoid(sum_of_defined(memory * fresh, extra[0]), in),
                                through_sigmoid(sum_of_defined(memory * before[now], extra[1]), forget),
                                through_tanh(sum_of_defined(memory * in, extra[2]), fresh),
                                through_sigmoid(sum_of_defined(hidden * bent, extra[3]), out)},
            1);
    to_hidden.before(mm(made[now], weight_hh));
    to_cell.before(memory * forget);
  }
  return {joined(made), to_hidden.first(), to_cell.first()};
}

GruGradients gru_steps_backward(const GruResultGradients& grads, const Tensor& hidden,
                                const Tensor& weight_hh, const Tensor& states, const Tensor& gates,
                                IntList batch_sizes, bool reverse) {
  const size_t count = batch_sizes.size();
  const std::vector<Tensor> of_output = by_step(sum_of_defined(grads.output, grads.states), batch_sizes),
                            of_gates = by_step(grads.gates, batch_sizes), kept = by_step(gates, batch_sizes),
                            before =
                                by_step(states_before(states, hidden, batch_sizes, reverse), batch_sizes);
  std::vector<Tensor> to_input(count), to_ours(count);
  Returning to_hidden(grads.last_hidden, hidden);
  for (size_t turn = count; turn-- > 0;) {
    const size_t now = place(turn, batch_sizes, reverse);
    const std::vector<Tensor> gate = parts(kept[now], 4), extra = parts(of_gates[now], 4);
    const Tensor &reset = gate[0], &update = gate[1], &fresh = gate[2], &ours = gate[3];
    const Tensor grad = sum_of_defined(to_hidden.of(batch_sizes[now]), of_output[now]);
    const Tensor of_fresh = through_tanh(sum_of_defined(grad * one_minus(update), extra[2]), fresh);
    const Tensor of_reset = through_sigmoid(sum_of_defined(of_fresh * ours, extra[0]), reset);
    const Tensor of_update = through_sigmoid(sum_of_defined(grad * (before[now] - fresh), extra[1]), update);
    to_input[now] = cat(std::vector<Tensor>{of_reset, of_update, of_fresh}, 1);
    to_ours[now] =
        cat(std::vector<Tensor>{of_reset, of_update, sum_of_defined(of_fresh * reset, extra[3])}, 1);
    to_hidden.before(addmm(grad * update, to_ours[now], weight_hh, Scalar(1), Scalar(1)));
  }
  return {joined(to_input), joined(to_ours), to_hidden.first()};
}

RnnGradients rnn_steps_backward(const RnnResultGradients& grads, const Tensor& hidden,
                                const Tensor& weight_hh, const Tensor& states, bool relu, IntList batch_sizes,
                                bool reverse) {
  const size_t count = batch_sizes.size();
  const std::vector<Tensor> of_output = by_step(sum_of_defined(grads.output, grads.states), batch_sizes),
                            state = by_step(states, batch_sizes);
  std::vector<Tensor> made(count);
  Returning to_hidden(grads.last_hidden, hidden);
  for (size_t turn = count; turn-- > 0;) {
    const size_t now = place(turn, batch_sizes, reverse);
    const Tensor grad = sum_of_defined(to_hidden.of(batch_sizes[now]), of_output[now]);
    made[now] = relu ? threshold_backward(grad, state[now], Scalar(0)) : through_tanh(grad, state[now]);
    to_hidden.before(mm(made[now], weight_hh));
  }
  return {joined(made), to_hidden.first()};
}

Tensor states_before(const Tensor& of_steps, const Tensor& first, IntList batch_sizes, bool reverse) {
  const int64_t all = of_steps.size(0), last = batch_sizes.back(), batch = batch_sizes[0];
  if (batch == last) {  // sequences of one length
    return reverse ? joined({rows(of_steps, batch, all), first})
                   : joined({first, rows(of_steps, 0, all - batch)});
  }
  std::vector<Tensor> parts;
  int64_t at = 0, before = 0;  // where this step begins, and the one before
  for (size_t step = 0; step < batch_sizes.size(); ++step) {
    const int64_t count = batch_sizes[step];
    if (!reverse) {
      parts.push_back(step == 0 ? first : rows(of_steps, before, before + count));
    } else {
      const int64_t later = step + 1 < batch_sizes.size() ? batch_sizes[step + 1] : 0;
      if (later > 0) parts.push_back(rows(of_steps, at + count, at + count + later));
      if (later < count) parts.push_back(rows(first, later, count));
    }
    before = at;
    at += count;
  }
  return joined(parts);
}

}  // namespace mt::recurrent
