#include "aclop/recurrent.h"

#include <array>

#include "ops/recurrent/old_interface.h"

namespace softnpu::aclop {
namespace {

// What the software NPU does not know of these operators.
void require_plain(const Call& call, std::span<const std::string_view> gate_orders) {
  if (call.attribute("use_peephole", false)) call.refuse("'use_peephole' is not supported");
  if (call.attribute("num_proj", int64_t(0)) != 0) call.refuse("'num_proj' is not supported, wanted 0");
  if (call.attribute("cell_clip", -1.0f) > 0) call.refuse("'cell_clip' is not supported, wanted -1");
  if (!call.attribute("time_major", true)) call.refuse("'time_major' must be true");
  const std::string order = call.attribute("gate_order", std::string(gate_orders.front()));
  for (const std::string_view known : gate_orders)
    if (order == known) return;
  call.refuse("'gate_order' is '", order, "', wanted '", gate_orders.front(), "'");
}
// 'j' and 'c' name the same gate.
constexpr std::array<std::string_view, 2> kLstmOrders = {"ifjo", "ifco"};
constexpr std::array<std::string_view, 1> kGruOrders = {"rzh"};

bool reversed(const Call& call) {
  const std::string direction = call.attribute("direction", std::string("UNIDIRECTIONAL"));
  if (direction != "UNIDIRECTIONAL" && direction != "REDIRECTIONAL")
    call.refuse("'direction' is '", direction, "', wanted 'UNIDIRECTIONAL' or 'REDIRECTIONAL'");
  return direction == "REDIRECTIONAL";
}

int64_t size_at(const Call& call, size_t input, size_t ndim, size_t dim) {
  const std::vector<int64_t>& sizes = call.input_desc(input).sizes;
  if (sizes.size() != ndim) call.refuse("input ", input, " has ", sizes.size(), " dimensions, wanted ", ndim);
  return sizes[dim];
}

// A state [B, W], also where it comes as [1, B, W].
std::vector<int64_t> without_first(const std::vector<int64_t>& sizes) {
  return sizes.size() == 3 && sizes[0] == 1 ? std::vector<int64_t>(sizes.begin() + 1, sizes.end()) : sizes;
}
std::vector<int64_t> dense_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}
Tensor input_state(const Call& call, size_t index) {
  if (!call.has_input(index)) return nullptr;
  const std::vector<int64_t> sizes = without_first(call.input_desc(index).sizes);
  return call.input_as(index, sizes, dense_strides(sizes), 0);
}
Tensor output_state(const Call& call, size_t index) {
  const std::vector<int64_t> sizes = without_first(call.output_desc(index).sizes);
  return call.output_as(index, sizes, dense_strides(sizes), 0);
}
// Rows [T, B, …]; those of a single step may come without the first dimension.
std::vector<int64_t> with_first(std::vector<int64_t> sizes) {
  if (sizes.size() == 2) sizes.insert(sizes.begin(), 1);
  return sizes;
}
Tensor input_rows(const Call& call, size_t index) {
  if (!call.has_input(index)) return nullptr;
  const std::vector<int64_t> sizes = with_first(call.input_desc(index).sizes);
  return call.input_as(index, sizes, dense_strides(sizes), 0);
}
Tensor output_rows(const Call& call, size_t index) {
  const std::vector<int64_t> sizes = with_first(call.output_desc(index).sizes);
  return call.output_as(index, sizes, dense_strides(sizes), 0);
}
Tensor optional_input(const Call& call, size_t index) {
  return call.has_input(index) ? call.input(index) : nullptr;
}
// Where there is nothing to mask, a scalar stands in.
Tensor mask_at(const Call& call, size_t index) {
  return call.has_input(index) && call.input_desc(index).sizes.size() == 3 ? call.input(index) : nullptr;
}

// [rows, gates] from row `first` on, seen as [gates, rows].
struct Part {
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  Part(int64_t first, int64_t rows, int64_t gates)
      : sizes{gates, rows}, strides{1, gates}, offset(first * gates) {}
};

// The operands of DynamicRNN have one weight [I + W, gates], those of the others two.
struct Weights {
  Part ih, hh;
  size_t ih_at, hh_at;

  static Weights joined(const Call& call, size_t at) {
    const int64_t inputs = size_at(call, 0, 3, 2), rows = size_at(call, at, 2, 0),
                  gates = size_at(call, at, 2, 1);
    if (rows <= inputs || gates % 4 != 0 || rows - inputs != gates / 4)
      call.refuse("a weight of ", rows, " rows and ", gates, " columns does not fit inputs of ", inputs,
                  "; layers with projections are not supported");
    return {Part(0, inputs, gates), Part(inputs, rows - inputs, gates), at, at};
  }
  static Weights apart(const Call& call, size_t at) {
    const int64_t inputs = size_at(call, at, 2, 0), width = size_at(call, at + 1, 2, 0),
                  gates = size_at(call, at, 2, 1);
    return {Part(0, inputs, gates), Part(0, width, size_at(call, at + 1, 2, 1)), at, at + 1};
  }

  Tensor input_ih(const Call& call) const { return call.input_as(ih_at, ih.sizes, ih.strides, ih.offset); }
  Tensor input_hh(const Call& call) const { return call.input_as(hh_at, hh.sizes, hh.strides, hh.offset); }
  // Gradients are outputs 0 and, where there are two, 1.
  Tensor output_ih(const Call& call) const { return call.output_as(0, ih.sizes, ih.strides, ih.offset); }
  Tensor output_hh(const Call& call) const {
    return call.output_as(ih_at == hh_at ? 0 : 1, hh.sizes, hh.strides, hh.offset);
  }
};

template <class Plan>
void run_layer(const Call& call, const char* name, const Plan& plan) {
  call.run(plan, [name](void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream) {
    return ops::launch_old_layer(name, workspace, size, executor, stream);
  });
}

// x, weights, b, seq_length, init_h, init_c -> y, output_h, output_c, i, j, f, o, tanhc
void lstm(const Call& call, const char* name, const Weights& weights, size_t bias, size_t mask,
          size_t hidden_at) {
  require_plain(call, kLstmOrders);
  const Tensor x = input_rows(call, 0), ih = weights.input_ih(call), hh = weights.input_hh(call),
               b = optional_input(call, bias), steps = mask_at(call, mask),
               hidden = input_state(call, hidden_at), cell = input_state(call, hidden_at + 1);
  std::vector<Tensor> out;
  for (size_t i = 0; i < 8; ++i) out.push_back(call.output(i));
  const ops::OldLstm made{{name, x.get(), ih.get(), hh.get(), b.get(), nullptr, steps.get(), hidden.get(),
                           cell.get(), reversed(call)},
                          out[0].get(),
                          out[1].get(),
                          out[2].get(),
                          out[3].get(),
                          out[4].get(),
                          out[5].get(),
                          out[6].get(),
                          out[7].get()};
  run_layer(call, name, [&](uint64_t* workspace, aclOpExecutor** executor) {
    return ops::plan_old_lstm(made, workspace, executor);
  });
}

// From `first` on: y, init_h, init_c, h, c, dy, dh, dc, i, j, f, o, tanhc, seq_length -> weights, db, dx, dh, dc
void lstm_gradient(const Call& call, const char* name, const Weights& weights, size_t first,
                   size_t to_bias_at) {
  require_plain(call, kLstmOrders);
  const Tensor x = input_rows(call, 0), ih = weights.input_ih(call), hh = weights.input_hh(call),
               hidden = input_state(call, first + 1), cell = input_state(call, first + 2),
               states = input_rows(call, first + 3), cells = input_rows(call, first + 4),
               dy = input_rows(call, first + 5), dh = input_state(call, first + 6),
               dc = input_state(call, first + 7), in = input_rows(call, first + 8),
               fresh = input_rows(call, first + 9), forget = input_rows(call, first + 10),
               out = input_rows(call, first + 11), bent = input_rows(call, first + 12),
               steps = mask_at(call, first + 13);
  const Tensor to_ih = weights.output_ih(call), to_hh = weights.output_hh(call),
               to_bias = call.output(to_bias_at), to_x = output_rows(call, to_bias_at + 1),
               to_hidden = output_state(call, to_bias_at + 2), to_cell = output_state(call, to_bias_at + 3);
  const ops::OldLstm made{{name, x.get(), ih.get(), hh.get(), nullptr, nullptr, steps.get(), hidden.get(),
                           cell.get(), reversed(call)},
                          nullptr,
                          states.get(),
                          cells.get(),
                          in.get(),
                          fresh.get(),
                          forget.get(),
                          out.get(),
                          bent.get()};
  const ops::OldLstmGradient gradient{dy.get(),      dh.get(),   dc.get(),        to_ih.get(),  to_hh.get(),
                                      to_bias.get(), to_x.get(), to_hidden.get(), to_cell.get()};
  run_layer(call, name, [&](uint64_t* workspace, aclOpExecutor** executor) {
    return ops::plan_old_lstm_gradient(made, gradient, workspace, executor);
  });
}

}  // namespace

void dynamic_rnn(const Call& call) { lstm(call, "DynamicRNN", Weights::joined(call, 1), 2, 3, 4); }
void dynamic_rnn_v2(const Call& call) { lstm(call, "DynamicRNNV2", Weights::apart(call, 1), 3, 4, 5); }
void dynamic_rnn_gradient(const Call& call) {
  lstm_gradient(call, "DynamicRNNGrad", Weights::joined(call, 1), 3, 1);
}
void dynamic_rnn_v2_gradient(const Call& call) {
  lstm_gradient(call, "DynamicRNNV2Grad", Weights::apart(call, 1), 3, 2);
}

// x, weights, biases, seq_length, init_h -> y, output_h, update, reset, new, hidden_new
void dynamic_gru(const Call& call) {
  require_plain(call, kGruOrders);
  if (!call.attribute("reset_after", true)) call.refuse("'reset_after' must be true");
  const char* name = "DynamicGRUV2";
  const Weights weights = Weights::apart(call, 1);
  const Tensor x = input_rows(call, 0), ih = weights.input_ih(call), hh = weights.input_hh(call),
               bias_ih = optional_input(call, 3), bias_hh = optional_input(call, 4), steps = mask_at(call, 5),
               hidden = input_state(call, 6);
  std::vector<Tensor> out;
  for (size_t i = 0; i < 6; ++i) out.push_back(call.output(i));
  const ops::OldGru made{{name, x.get(), ih.get(), hh.get(), bias_ih.get(), bias_hh.get(), steps.get(),
                          hidden.get(), nullptr, reversed(call)},
                         out[0].get(),
                         out[1].get(),
                         out[2].get(),
                         out[3].get(),
                         out[4].get(),
                         out[5].get()};
  run_layer(call, name, [&](uint64_t* workspace, aclOpExecutor** executor) {
    return ops::plan_old_gru(made, workspace, executor);
  });
}

// x, weights, y, init_h, h, dy, dh, update, reset, new, hidden_new, seq_length -> weights, biases, dx, dh_prev
void dynamic_gru_gradient(const Call& call) {
  require_plain(call, kGruOrders);
  if (!call.attribute("reset_after", true)) call.refuse("'reset_after' must be true");
  const char* name = "DynamicGRUV2Grad";
  const Weights weights = Weights::apart(call, 1);
  const Tensor x = input_rows(call, 0), ih = weights.input_ih(call), hh = weights.input_hh(call),
               hidden = input_state(call, 4), states = input_rows(call, 5), dy = input_rows(call, 6),
               dh = input_state(call, 7), update = input_rows(call, 8), reset = input_rows(call, 9),
               fresh = input_rows(call, 10), part = input_rows(call, 11), steps = mask_at(call, 12);
  const Tensor to_ih = weights.output_ih(call), to_hh = weights.output_hh(call), to_bias_ih = call.output(2),
               to_bias_hh = call.output(3), to_x = output_rows(call, 4), to_hidden = output_state(call, 5);
  const ops::OldGru made{{name, x.get(), ih.get(), hh.get(), nullptr, nullptr, steps.get(), hidden.get(),
                          nullptr, reversed(call)},
                         nullptr,
                         states.get(),
                         update.get(),
                         reset.get(),
                         fresh.get(),
                         part.get()};
  const ops::OldGruGradient gradient{dy.get(),         dh.get(),         to_ih.get(), to_hh.get(),
                                     to_bias_ih.get(), to_bias_hh.get(), to_x.get(),  to_hidden.get()};
  run_layer(call, name, [&](uint64_t* workspace, aclOpExecutor** executor) {
    return ops::plan_old_gru_gradient(made, gradient, workspace, executor);
  });
}

}  // namespace softnpu::aclop
