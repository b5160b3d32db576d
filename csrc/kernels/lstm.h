// One step of a long short-term memory, after its matrix products.
#pragma once

#include "kernels/view.h"

namespace mt::kernels {

// input_gates + hidden_gates (+ biases [4 H]) are [B, 4 H]: input, forget, cell and output gate. cell [B, H] is the state
// before. `gates`, [B, 4 H], keeps the gates after their activations for the gradient.
void lstm_cell(const View& input_gates, const View& hidden_gates, const View* input_bias,
               const View* hidden_bias, const View& cell, const View& hidden_out, const View& cell_out,
               const View& gates);
// Either gradient may be null. grad_gates is [B, 4 H], grad_cell that of the state before.
void lstm_cell_backward(const View* grad_hidden, const View* grad_cell_out, const View& cell,
                        const View& cell_out, const View& gates, const View& grad_gates,
                        const View& grad_cell);

}  // namespace mt::kernels
