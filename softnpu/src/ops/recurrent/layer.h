// One direction of one recurrent layer, run by the stream; operators of several layers and the old interface share it.
#pragma once

#include "ops/recurrent/sequences.h"

namespace softnpu::ops {

// ih [gates, inputs], hh [gates, width]; biases [gates]. The same for their gradients, where each may be missing.
struct LayerWeights {
  std::optional<Operand> ih, hh, bias_ih, bias_hh;
};

// What the gates were and what came of them, each [T, B, W] or packed; any may be missing.
struct LstmKept {
  std::optional<Operand> in, fresh, forget, out, hidden, cell, bent_cell;
};
struct GruKept {
  std::optional<Operand> reset, update, fresh, hidden_part, hidden;
};

// A state before the first step, [B, W] in the type of the computation: zeros where none is given.
class FirstState {
 public:
  FirstState(const std::optional<Operand>& given, const aclOpExecutor& e, int64_t batch, int64_t width,
             DType dtype)
      : made_({batch, width}, dtype) {
    if (given) mt::kernels::copy(given->view(e), made_.view());
    else mt::kernels::fill(made_.view(), Scalar(0));
  }
  const View& view() const { return made_.view(); }

 private:
  mt::kernels::Temporary made_;
};

struct LayerCall {
  const aclOpExecutor& executor;
  const Sequences& sequences;
  bool reverse;
  DType compute;  // float32 for half types
  const LayerWeights& weights;
  // Sequences that have ended keep their state, and have it in `hidden` and `cell` (else zeros).
  bool keeps_states = false;
};

// input [N, I]; output [N, W] may be part of a wider matrix.
void lstm_direction(const LayerCall& call, const View& input, const View& hidden, const View& cell,
                    const View& output, const View& last_hidden, const View& last_cell, const LstmKept& kept);
void gru_direction(const LayerCall& call, const View& input, const View& hidden, const View& output,
                   const View& last_hidden, const GruKept& kept);

// grad_input [N, I] = beta * itself + the gradient; gradients of results may be null.
struct LayerGradients {
  const View *output, *last_hidden, *last_cell;
  const View& input;
  double beta;
  const LayerWeights& weights;
};
void lstm_direction_backward(const LayerCall& call, const View& input, const View& hidden, const View& cell,
                             const LstmKept& kept, const LayerGradients& gradients, const View& grad_hidden,
                             const View& grad_cell);
void gru_direction_backward(const LayerCall& call, const View& input, const View& hidden, const GruKept& kept,
                            const LayerGradients& gradients, const View& grad_hidden);

inline DType compute_dtype(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 ? DType::float32 : dtype;
}

}  // namespace softnpu::ops
