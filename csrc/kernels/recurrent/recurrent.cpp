#include "kernels/recurrent/recurrent.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/common/dense.h"
#include "kernels/common/parallel.h"
#include "kernels/common/rows.h"
#include "kernels/common/thread_buffer.h"
#include "kernels/common/types.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/packed_columns.h"
#include "kernels/recurrent/gates.h"

namespace mt::kernels {
namespace {

constexpr int64_t kRowsTogether = 8;                  // as many as a tile takes
constexpr int64_t kWorkPerThread = int64_t(1) << 20;  // multiplications worth waking a thread for

// Packed weights; kept between calls.
constinit PerThread<ThreadBuffer> packed_memory;

// Rows [first, end) of a step. Row 0 of the step is row `at` of what has a row for every step, and row 0 of the step
// before is row `before`; -1 where these rows begin, so that their state is the first one.
struct StepRows {
  int64_t first, end, at, before;
  int64_t count() const { return end - first; }
  int64_t row() const { return at + first; }
};

class Walk {
 public:
  explicit Walk(Steps steps) : steps_(steps), offsets_(size_t(steps.count)) {
    int64_t at = 0;
    for (int64_t t = 0; t < steps.count; ++t) {
      offsets_[size_t(t)] = at;
      at += steps.rows[t];
    }
    rows_ = at;
  }
  int64_t batch() const { return steps_.count ? steps_.rows[0] : 0; }
  int64_t rows() const { return rows_; }

  // f(StepRows) for the steps of rows [first, end), in their order or, backwards, in the opposite one.
  template <class F>
  void visit(int64_t first, int64_t end, bool backwards, F&& f) const {
    for (int64_t i = 0; i < steps_.count; ++i) {
      const int64_t turn = backwards ? steps_.count - 1 - i : i;
      const int64_t step = place(turn), before = turn > 0 ? place(turn - 1) : -1;
      const int64_t last = std::min(end, steps_.rows[step]);
      if (last <= first) continue;
      const int64_t running = before < 0 ? first : std::clamp(steps_.rows[before], first, last);
      const int64_t at = offsets_[size_t(step)];
      if (running > first) f(StepRows{first, running, at, offsets_[size_t(before)]});
      if (last > running) f(StepRows{running, last, at, -1});
    }
  }

  // The same on as many threads as the work is worth.
  template <class F>
  void visit_all(int64_t multiplications, bool backwards, F&& f) const {
    const int64_t blocks = (batch() + kRowsTogether - 1) / kRowsTogether;
    const int64_t threads = std::clamp<int64_t>(multiplications / kWorkPerThread, 1, get_num_threads());
    const int64_t grain = (blocks + threads - 1) / threads;
    parallel_for(0, blocks, grain, [&](int64_t begin, int64_t end) {
      visit(begin * kRowsTogether, std::min(end * kRowsTogether, batch()), backwards, f);
    });
  }

  // The last row of every sequence, from [N, width] to [B, width].
  template <class C>
  void take_last(const C* from, C* to, int64_t width) const {
    for (int64_t t = 0; t < steps_.count; ++t) {
      const int64_t first = steps_.reverse || t + 1 == steps_.count ? 0 : steps_.rows[t + 1];
      const int64_t end = steps_.rows[t];
      std::copy_n(from + (offsets_[size_t(t)] + first) * width, (end - first) * width, to + first * width);
      if (steps_.reverse) return;  // all of them end at the first step
    }
  }

 private:
  int64_t place(int64_t turn) const { return steps_.reverse ? steps_.count - 1 - turn : turn; }

  Steps steps_;
  std::vector<int64_t> offsets_;
  int64_t rows_ = 0;
};

template <class C>
struct Matrix {
  int64_t sizes[2], strides[2];
  View view;
  Matrix(C* data, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride)
      : sizes{rows, columns},
        strides{row_stride, column_stride},
        view{const_cast<std::remove_const_t<C>*>(data), sizes, strides, 2, dtype_of<std::remove_const_t<C>>} {
  }
};

// sums[rows, outputs] = input[rows, inputs] @ weight[outputs, inputs]^T; rows of sums are `leading` apart.
template <class C>
void input_product(const DenseInput<C>& input, const DenseInput<C>& weight, int64_t rows, int64_t outputs,
                   C* sums, int64_t leading) {
  if (rows == 0 || outputs == 0) return;
  const int64_t inputs = weight.numel() / outputs;
  const Matrix<const C> a(input.data(), rows, inputs, inputs, 1),
      b(weight.data(), inputs, outputs, 1, inputs);
  const Matrix<C> c(sums, rows, outputs, leading, 1);
  gemm(a.view, b.view, c.view, Scalar(1), Scalar(0));
}

// The sum of the biases, or zeros.
template <class C>
std::vector<C> joined_bias(const RecurrentWeights& weights, int64_t count) {
  std::vector<C> sum(size_t(count), C(0));
  for (const View* bias : {weights.bias_ih, weights.bias_hh}) {
    if (!bias) continue;
    const DenseInput<C> values(*bias);
    for (int64_t i = 0; i < count; ++i) sum[size_t(i)] += values[i];
  }
  return sum;
}

// The hidden state's part of the new state has a bias of its own, behind the others, because the reset gate multiplies it.
template <class C>
std::vector<C> gru_bias(const RecurrentWeights& weights, int64_t width) {
  std::vector<C> bias(size_t(4 * width), C(0));
  if (weights.bias_ih) {
    const DenseInput<C> values(*weights.bias_ih);
    std::copy_n(values.data(), 3 * width, bias.begin());
  }
  if (weights.bias_hh) {
    const DenseInput<C> values(*weights.bias_hh);
    for (int64_t j = 0; j < 2 * width; ++j) bias[size_t(j)] += values[j];
    std::copy_n(values.data() + 2 * width, width, bias.begin() + 3 * width);
  }
  return bias;
}

// The state before each row: that of the step before, or the first one.
template <class C>
const C* state_before(const StepRows& rows, const C* of_steps, const C* first, int64_t width) {
  return rows.before < 0 ? first + rows.first * width : of_steps + (rows.before + rows.first) * width;
}

// A gradient of results as HiddenGradient wants it.
template <class C>
class OutputGradient {
 public:
  OutputGradient(const View* grad, int64_t width) : width_(width) {
    if (grad) dense_.emplace(*grad);
    else zeros_.assign(size_t(width), C(0));
  }
  HiddenGradient<C> with(const StepRows& rows, const C* later) const {
    if (dense_) return {dense_->data() + rows.row() * width_, width_, later + rows.first * width_};
    return {zeros_.data(), 0, later + rows.first * width_};
  }

 private:
  std::optional<DenseInput<C>> dense_;
  std::vector<C> zeros_;
  int64_t width_;
};

// What the steps begin with on their way back.
template <class C>
void fill_from(const View* grad, const DenseOutput<C>& to) {
  if (!grad) return to.fill(C(0));
  const DenseInput<C> from(*grad);
  std::copy_n(from.data(), to.numel(), to.data());
}

// Products with a weight. It is packed once for all steps; for a single step that does not pay.
template <class C>
class StateProduct {
 public:
  StateProduct(const C* weight, int64_t row_stride, int64_t column_stride, int64_t depth, int64_t columns,
               Steps steps, C* memory)
      : factor_(weight, depth, columns, row_stride, column_stride) {
    if (steps.count > 1) packed_.emplace(weight, row_stride, column_stride, depth, columns, memory);
  }
  // c[rows, columns] = a[rows, depth] @ weight + beta * c
  void multiply(const C* a, int64_t a_stride, int64_t rows, C beta, C* c, int64_t c_stride) const {
    if (packed_) return packed_->multiply(a, a_stride, rows, beta, c, c_stride);
    const Matrix<const C> left(a, rows, factor_.sizes[0], a_stride, 1);
    const Matrix<C> result(c, rows, factor_.sizes[1], c_stride, 1);
    gemm(left.view, factor_.view, result.view, Scalar(1), Scalar(double(beta)));
  }

 private:
  Matrix<const C> factor_;
  std::optional<PackedColumns<C>> packed_;
};

// weight [gates, width]: for the products of the hidden state, and for those of its gates' gradients.
template <class C>
StateProduct<C> forward_product(const C* weight, int64_t gates, int64_t width, Steps steps, C* memory) {
  return {weight, 1, width, width, gates, steps, memory};
}
template <class C>
StateProduct<C> backward_product(const C* weight, int64_t gates, int64_t width, Steps steps, C* memory) {
  return {weight, width, 1, gates, width, steps, memory};
}

}  // namespace

void lstm_layer(const View& input, const View& hidden, const View& cell, const RecurrentWeights& weights,
                Steps steps, const View& output, const View& last_hidden, const View& last_cell,
                const View& cells, const View& gates) {
  const int64_t width = cell.sizes[1], wide = 4 * width;
  const Walk walk(steps);
  with_compute_type(cell.dtype, "lstm", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> x(input), h(hidden), c(cell), weight_ih(weights.ih), weight_hh(weights.hh);
    const DenseOutput<C> out(output), states(cells), kept(gates), h_end(last_hidden), c_end(last_cell);
    input_product(x, weight_ih, walk.rows(), wide, kept.data(), wide);
    const std::vector<C> bias = joined_bias<C>(weights, wide);
    const auto product = forward_product(weight_hh.data(), wide, width, steps,
                                         packed_memory->room<C>(PackedColumns<C>::room(width, wide)));
    walk.visit_all(walk.rows() * width * wide, false, [&](const StepRows& rows) {
      C* now = kept.data() + rows.row() * wide;
      product.multiply(state_before(rows, out.data(), h.data(), width), width, rows.count(), C(1), now, wide);
      LstmGates<C>::forward[cpu_level](now, bias.data(), state_before(rows, states.data(), c.data(), width),
                                       states.data() + rows.row() * width, out.data() + rows.row() * width,
                                       rows.count(), width);
    });
    walk.take_last(out.data(), h_end.data(), width);
    walk.take_last(states.data(), c_end.data(), width);
    for (const DenseOutput<C>* made : {&out, &states, &kept, &h_end, &c_end}) made->store();
  });
}

void lstm_layer_backward(const View* grad_output, const View* grad_last_hidden, const View* grad_last_cell,
                         const View& cell, const View& weight_hh, const View& cells, const View& gates,
                         Steps steps, const View& grad_gates, const View& grad_hidden, const View& grad_cell,
                         const View& grad_bias) {
  const int64_t width = cell.sizes[1], wide = 4 * width;
  const Walk walk(steps);
  with_compute_type(cell.dtype, "lstm_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> c(cell), weight(weight_hh), states(cells), kept(gates);
    const DenseOutput<C> to_gates(grad_gates), to_hidden(grad_hidden), to_cell(grad_cell), to_bias(grad_bias);
    const OutputGradient<C> from(grad_output, width);
    fill_from(grad_last_hidden, to_hidden);
    fill_from(grad_last_cell, to_cell);
    // For each sequence, so that the sums do not depend on the number of threads.
    std::vector<C> totals(size_t(walk.batch() * wide), C(0));
    const auto product = backward_product(weight.data(), wide, width, steps,
                                          packed_memory->room<C>(PackedColumns<C>::room(wide, width)));
    walk.visit_all(walk.rows() * width * wide, true, [&](const StepRows& rows) {
      C* now = to_gates.data() + rows.row() * wide;
      C* state = to_hidden.data() + rows.first * width;
      LstmGates<C>::backward[cpu_level](
          kept.data() + rows.row() * wide, state_before(rows, states.data(), c.data(), width),
          states.data() + rows.row() * width, from.with(rows, to_hidden.data()),
          to_cell.data() + rows.first * width, now, totals.data() + rows.first * wide, rows.count(), width);
      product.multiply(now, wide, rows.count(), C(0), state, width);
    });
    to_bias.fill(C(0));
    for (int64_t n = 0; n < walk.batch(); ++n) {
      for (int64_t j = 0; j < wide; ++j) to_bias[j] += totals[size_t(n * wide + j)];
    }
    for (const DenseOutput<C>* made : {&to_gates, &to_hidden, &to_cell, &to_bias}) made->store();
  });
}

void gru_layer(const View& input, const View& hidden, const RecurrentWeights& weights, Steps steps,
               const View& output, const View& last_hidden, const View& states, const View& gates) {
  const int64_t width = hidden.sizes[1], wide = 4 * width;
  const Walk walk(steps);
  with_compute_type(hidden.dtype, "gru", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> x(input), h(hidden), weight_ih(weights.ih), weight_hh(weights.hh);
    const DenseOutput<C> out(output), again(states), kept(gates), h_end(last_hidden);
    input_product(x, weight_ih, walk.rows(), 3 * width, kept.data(), wide);
    const std::vector<C> bias = gru_bias<C>(weights, width);
    C* memory = packed_memory->room<C>(PackedColumns<C>::room(width, 2 * width) +
                                       PackedColumns<C>::room(width, width));
    const auto to_gates = forward_product(weight_hh.data(), 2 * width, width, steps, memory);
    const auto to_fresh = forward_product(weight_hh.data() + 2 * width * width, width, width, steps,
                                          memory + PackedColumns<C>::room(width, 2 * width));
    walk.visit_all(walk.rows() * width * 3 * width, false, [&](const StepRows& rows) {
      C* now = kept.data() + rows.row() * wide;
      const C* before = state_before(rows, out.data(), h.data(), width);
      to_gates.multiply(before, width, rows.count(), C(1), now, wide);
      to_fresh.multiply(before, width, rows.count(), C(0), now + 3 * width, wide);
      GruGates<C>::forward[cpu_level](now, bias.data(), before, out.data() + rows.row() * width, rows.count(),
                                      width);
    });
    walk.take_last(out.data(), h_end.data(), width);
    std::copy_n(out.data(), out.numel(), again.data());
    for (const DenseOutput<C>* made : {&out, &again, &kept, &h_end}) made->store();
  });
}

void gru_layer_backward(const View* grad_output, const View* grad_last_hidden, const View& hidden,
                        const View& weight_hh, const View& states, const View& gates, Steps steps,
                        const View& grad_input_gates, const View& grad_hidden_gates,
                        const View& grad_hidden) {
  const int64_t width = hidden.sizes[1], wide = 3 * width;
  const Walk walk(steps);
  with_compute_type(hidden.dtype, "gru_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> h(hidden), weight(weight_hh), out(states), kept(gates);
    const DenseOutput<C> to_input(grad_input_gates), to_gates(grad_hidden_gates), to_hidden(grad_hidden);
    const OutputGradient<C> from(grad_output, width);
    fill_from(grad_last_hidden, to_hidden);
    const auto product = backward_product(weight.data(), wide, width, steps,
                                          packed_memory->room<C>(PackedColumns<C>::room(wide, width)));
    walk.visit_all(walk.rows() * width * wide, true, [&](const StepRows& rows) {
      C* now = to_gates.data() + rows.row() * wide;
      C* state = to_hidden.data() + rows.first * width;
      GruGates<C>::backward[cpu_level](kept.data() + rows.row() * 4 * width,
                                       state_before(rows, out.data(), h.data(), width),
                                       from.with(rows, to_hidden.data()), to_input.data() + rows.row() * wide,
                                       now, state, rows.count(), width);
      product.multiply(now, wide, rows.count(), C(1), state, width);
    });
    for (const DenseOutput<C>* made : {&to_input, &to_gates, &to_hidden}) made->store();
  });
}

void rnn_layer(const View& input, const View& hidden, const RecurrentWeights& weights, bool relu, Steps steps,
               const View& output, const View& last_hidden, const View& states) {
  const int64_t width = hidden.sizes[1];
  const Walk walk(steps);
  with_compute_type(hidden.dtype, "rnn", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> x(input), h(hidden), weight_ih(weights.ih), weight_hh(weights.hh);
    const DenseOutput<C> out(output), again(states), h_end(last_hidden);
    input_product(x, weight_ih, walk.rows(), width, out.data(), width);
    const std::vector<C> bias = joined_bias<C>(weights, width);
    const auto product = forward_product(weight_hh.data(), width, width, steps,
                                         packed_memory->room<C>(PackedColumns<C>::room(width, width)));
    walk.visit_all(walk.rows() * width * width, false, [&](const StepRows& rows) {
      C* now = out.data() + rows.row() * width;
      product.multiply(state_before<C>(rows, out.data(), h.data(), width), width, rows.count(), C(1), now,
                       width);
      PlainGates<C>::forward[cpu_level](now, bias.data(), relu, rows.count(), width);
    });
    walk.take_last(out.data(), h_end.data(), width);
    std::copy_n(out.data(), out.numel(), again.data());
    for (const DenseOutput<C>* made : {&out, &again, &h_end}) made->store();
  });
}

void rnn_layer_backward(const View* grad_output, const View* grad_last_hidden, const View& weight_hh,
                        const View& states, bool relu, Steps steps, const View& grad_gates,
                        const View& grad_hidden) {
  const int64_t width = grad_hidden.sizes[1];
  const Walk walk(steps);
  with_compute_type(states.dtype, "rnn_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> weight(weight_hh), out(states);
    const DenseOutput<C> to_gates(grad_gates), to_hidden(grad_hidden);
    const OutputGradient<C> from(grad_output, width);
    fill_from(grad_last_hidden, to_hidden);
    const auto product = backward_product(weight.data(), width, width, steps,
                                          packed_memory->room<C>(PackedColumns<C>::room(width, width)));
    walk.visit_all(walk.rows() * width * width, true, [&](const StepRows& rows) {
      C* now = to_gates.data() + rows.row() * width;
      PlainGates<C>::backward[cpu_level](out.data() + rows.row() * width, from.with(rows, to_hidden.data()),
                                         now, relu, rows.count(), width);
      product.multiply(now, width, rows.count(), C(0), to_hidden.data() + rows.first * width, width);
    });
    to_gates.store();
    to_hidden.store();
  });
}

void lstm_cell(const View& input_gates, const View& hidden_gates, const View* input_bias,
               const View* hidden_bias, const View& cell, const View& hidden_out, const View& cell_out,
               const View& gates) {
  const int64_t batch = cell.sizes[0], width = cell.sizes[1];
  with_compute_type(cell.dtype, "lstm_cell", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> x(input_gates), h(hidden_gates), before(cell);
    const DenseOutput<C> hidden(hidden_out), after(cell_out), kept(gates);
    const std::vector<C> bias =
        joined_bias<C>({input_gates, hidden_gates, input_bias, hidden_bias}, 4 * width);
    for (int64_t i = 0; i < kept.numel(); ++i) kept[i] = x[i] + h[i];
    LstmGates<C>::forward[cpu_level](kept.data(), bias.data(), before.data(), after.data(), hidden.data(),
                                     batch, width);
    for (const DenseOutput<C>* made : {&hidden, &after, &kept}) made->store();
  });
}

void lstm_cell_backward(const View* grad_hidden, const View* grad_cell_out, const View& cell,
                        const View& cell_out, const View& gates, const View& grad_gates,
                        const View& grad_cell) {
  const int64_t batch = cell.sizes[0], width = cell.sizes[1];
  with_compute_type(cell.dtype, "lstm_cell_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> before(cell), after(cell_out), kept(gates);
    const DenseOutput<C> to_gates(grad_gates), to_cell(grad_cell);
    const OutputGradient<C> from(grad_hidden, width);
    fill_from(grad_cell_out, to_cell);
    const std::vector<C> nothing_later(size_t(batch * width), C(0));
    std::vector<C> totals(size_t(batch * 4 * width), C(0));
    LstmGates<C>::backward[cpu_level](kept.data(), before.data(), after.data(),
                                      from.with({0, batch, 0, -1}, nothing_later.data()), to_cell.data(),
                                      to_gates.data(), totals.data(), batch, width);
    to_gates.store();
    to_cell.store();
  });
}

}  // namespace mt::kernels
