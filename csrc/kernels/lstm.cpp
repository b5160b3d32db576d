#include "kernels/lstm.h"

#include <cmath>
#include <optional>

#include "kernels/dense.h"
#include "kernels/normalize_rows.h"

namespace mt::kernels {
namespace {

template <class C>
C sigmoid(C x) {
  return C(1) / (C(1) + std::exp(-x));
}

}  // namespace

void lstm_cell(const View& input_gates, const View& hidden_gates, const View* input_bias,
               const View* hidden_bias, const View& cell, const View& hidden_out, const View& cell_out,
               const View& gates) {
  const int64_t batch = cell.sizes[0], width = cell.sizes[1];
  with_compute_type(cell.dtype, "lstm_cell", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> x(input_gates), h(hidden_gates), before(cell);
    const std::vector<double> b = numbers_or(input_bias, 4 * width, 0),
                              c = numbers_or(hidden_bias, 4 * width, 0);
    const DenseOutput<C> hidden(hidden_out), after(cell_out), kept(gates);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t j = 0; j < width; ++j) {
        const auto gate = [&](int64_t which) {
          const int64_t at = n * 4 * width + which * width + j;
          const size_t i = size_t(which * width + j);
          return x[at] + h[at] + C(b[i]) + C(c[i]);
        };
        const C in = sigmoid(gate(0)), forget = sigmoid(gate(1)), fresh = std::tanh(gate(2)),
                out = sigmoid(gate(3));
        const C state = forget * before[n * width + j] + in * fresh;
        after[n * width + j] = state;
        hidden[n * width + j] = out * std::tanh(state);
        C* keep = kept.data() + n * 4 * width + j;
        keep[0] = in, keep[width] = forget, keep[2 * width] = fresh, keep[3 * width] = out;
      }
    }
    hidden.store();
    after.store();
    kept.store();
  });
}

void lstm_cell_backward(const View* grad_hidden, const View* grad_cell_out, const View& cell,
                        const View& cell_out, const View& gates, const View& grad_gates,
                        const View& grad_cell) {
  const int64_t batch = cell.sizes[0], width = cell.sizes[1];
  with_compute_type(cell.dtype, "lstm_cell_backward", [&](auto tag) {
    using C = typename decltype(tag)::type;
    const DenseInput<C> before(cell), after(cell_out), kept(gates), dh(grad_hidden ? *grad_hidden : cell),
        dc(grad_cell_out ? *grad_cell_out : cell);
    const DenseOutput<C> to_gates(grad_gates), to_cell(grad_cell);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t j = 0; j < width; ++j) {
        const int64_t at = n * width + j;
        const C* gate = kept.data() + n * 4 * width + j;
        C* to = to_gates.data() + n * 4 * width + j;
        const C in = gate[0], forget = gate[width], fresh = gate[2 * width], out = gate[3 * width];
        const C bent = std::tanh(after[at]), hidden = grad_hidden ? dh[at] : C(0);
        const C state = (grad_cell_out ? dc[at] : C(0)) + hidden * out * (C(1) - bent * bent);
        to[0] = state * fresh * in * (C(1) - in);
        to[width] = state * before[at] * forget * (C(1) - forget);
        to[2 * width] = state * in * (C(1) - fresh * fresh);
        to[3 * width] = hidden * bent * out * (C(1) - out);
        to_cell[at] = state * forget;
      }
    }
    to_gates.store();
    to_cell.store();
  });
}

}  // namespace mt::kernels
