// Recurrent networks as PyTorch has them: layers, directions and dropout around the layers of the table.
#include "generated/ops/composites/recurrent.h"

#include "autograd/formulas/recurrent_steps.h"
#include "core/intercept_python.h"
#include "generated/ops/copy.h"
#include "generated/ops/dropout.h"
#include "generated/ops/matmul.h"
#include "generated/ops/recurrent.h"
#include "generated/ops/shape.h"
#include "generated/ops/view.h"

namespace mt::composites {
namespace {

// What all networks are called with.
struct Options {
  bool has_biases;
  int64_t layers;
  double dropout;
  bool train, bidirectional;
};

// The weights of one layer in one direction.
struct Weights {
  const Tensor &ih, &hh;
  Tensor bias_ih, bias_hh, projection;
};

class Parameters {
 public:
  Parameters(TensorList params, const Options& options, bool has_projections)
      : params_(params), options_(options), projected_(has_projections) {
    MT_CHECK(options.layers > 0, "num_layers must be greater than zero");
    each_ = 2 + (options.has_biases ? 2 : 0) + (has_projections ? 1 : 0);
    const int64_t given = int64_t(params.size()), each_layer = each_ * (options.bidirectional ? 2 : 1);
    MT_CHECK(given % each_layer == 0 && given / each_layer == options.layers,
             "got an incorrect number of RNN parameters");
  }
  Weights at(int64_t place) const {
    const TensorList own = params_.subspan(size_t(place * each_), size_t(each_));
    Weights weights{own[0], own[1], Tensor(), Tensor(), Tensor()};
    if (options_.has_biases) weights.bias_ih = own[2], weights.bias_hh = own[3];
    if (projected_) weights.projection = own[size_t(each_ - 1)];
    return weights;
  }

 private:
  TensorList params_;
  const Options& options_;
  bool projected_;
  int64_t each_;
};

void check_devices(const Tensor& input, TensorList params, TensorList states) {
  for (const auto& [tensors, what] : {std::pair{states, "hidden"}, std::pair{params, "parameter"}}) {
    for (const Tensor& t : tensors)
      MT_CHECK(t.device() == input.device(), "Input and ", what,
               " tensors are not at the same device, found input tensor at ", to_string(input.device()),
               " and ", what, " tensor at ", to_string(t.device()));
  }
}

// Packed rows through all layers. layer(rows, weights, place, reverse, last): the outputs of one direction; it adds its
// last states to `last`.
using Lasts = std::array<std::vector<Tensor>, 2>;  // hidden and cell
template <class Layer>
Tensor stacked(Tensor rows, const Parameters& parameters, const Options& options, Lasts& last,
               Layer&& layer) {
  const int64_t directions = options.bidirectional ? 2 : 1;
  for (int64_t i = 0; i < options.layers; ++i) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t place = i * directions + direction;
      outputs.push_back(layer(rows, parameters.at(place), place, direction == 1, last));
    }
    rows = directions == 1 ? outputs[0] : ops::cat(outputs, 1);
    if (options.dropout > 0 && options.train && i + 1 < options.layers)
      rows = ops::dropout(rows, options.dropout, true);
  }
  return rows;
}

Tensor joined_last(const std::vector<Tensor>& states) {
  return states.size() == 1 ? ops::unsqueeze(states[0], 0) : ops::stack(states, 0);
}

Tensor state_at(const Tensor& states, int64_t place) {
  MT_CHECK(place < states.size(0), "Expected more hidden states in stacked_rnn");
  return ops::select(states, 0, place);
}

// Sequences of one length as packed rows, and back.
struct Padded {
  Tensor rows;
  Dims batch_sizes;
  bool batch_first;

  Padded(const Tensor& input, bool first) : batch_first(first) {
    MT_CHECK(input.dim() == 3, "input must have 3 dimensions, got ", input.dim());
    const Tensor steps = first ? ops::transpose(input, 0, 1) : input;
    MT_CHECK(steps.size(0) > 0, "Expected sequence length to be larger than 0 in RNN");
    batch_sizes = Dims(size_t(steps.size(0)), steps.size(1));
    rows = steps.reshape(Dims{steps.size(0) * steps.size(1), steps.size(2)});
  }
  Tensor unpacked(const Tensor& outputs) const {
    const Tensor steps =
        ops::view(outputs, Dims{int64_t(batch_sizes.size()), batch_sizes[0], outputs.size(1)});
    return batch_first ? ops::transpose(steps, 0, 1) : steps;
  }
};

Dims sizes_of(const Tensor& data, const Tensor& batch_sizes) {
  MT_CHECK(data.dim() == 2, "input must have 2 dimensions, got ", data.dim());
  MT_CHECK(batch_sizes.dim() == 1 && batch_sizes.dtype() == DType::int64 && batch_sizes.device().is_cpu(),
           "batch_sizes tensor should be a vector of int64 on the CPU");
  if (special(batch_sizes) & kHandled) {  // its class knows the values, if anybody does
    Dims known;
    for (const Tensor& each : ops::unbind(batch_sizes, 0)) known.push_back(item(each).to<int64_t>());
    return known;
  }
  const Tensor dense =
      batch_sizes.is_contiguous() ? batch_sizes : ops::clone(batch_sizes, MemoryFormat::contiguous);
  const int64_t* sizes = static_cast<const int64_t*>(dense.data());
  return Dims(IntList(sizes, size_t(dense.numel())));
}

// A layer in one direction: its outputs and last states. Handlers in Python see its steps, which are operators that
// PyTorch has; a layer is not.
bool seen_by_steps(const Tensor& input, const Tensor& hidden, const Weights& w) {
  return wanted_by_python(special(input) | special(hidden) | special(w.ih) | special(w.hh));
}

recurrent::LstmRun lstm_layer(const Tensor& input, const Tensor& h, const Tensor& c, const Weights& w,
                              IntList batch_sizes, bool reverse) {
  if (w.projection.defined() || seen_by_steps(input, h, w)) {
    const Tensor sums = ops::linear(input, w.ih, recurrent::sum_of_defined(w.bias_ih, w.bias_hh));
    return recurrent::lstm_steps(sums, h, c, w.hh, w.projection, batch_sizes, reverse);
  }
  auto [output, last_hidden, last_cell, cells, gates] =
      ops::_lstm_layer(input, h, c, w.ih, w.hh, w.bias_ih, w.bias_hh, batch_sizes, reverse);
  return {output, last_hidden, last_cell, cells, gates};
}

std::pair<Tensor, Tensor> gru_layer(const Tensor& input, const Tensor& hidden, const Weights& w,
                                    IntList batch_sizes, bool reverse) {
  if (seen_by_steps(input, hidden, w)) {
    const Tensor sums = ops::linear(input, w.ih, w.bias_ih);
    const recurrent::GruRun run = recurrent::gru_steps(sums, hidden, w.hh, w.bias_hh, batch_sizes, reverse);
    return {run.output, run.last_hidden};
  }
  const auto made = ops::_gru_layer(input, hidden, w.ih, w.hh, w.bias_ih, w.bias_hh, batch_sizes, reverse);
  return {std::get<0>(made), std::get<1>(made)};
}

std::pair<Tensor, Tensor> rnn_layer(const Tensor& input, const Tensor& hidden, const Weights& w, bool relu,
                                    IntList batch_sizes, bool reverse) {
  if (seen_by_steps(input, hidden, w)) {
    const Tensor sums = ops::linear(input, w.ih, recurrent::sum_of_defined(w.bias_ih, w.bias_hh));
    const recurrent::RnnRun run = recurrent::rnn_steps(sums, hidden, w.hh, relu, batch_sizes, reverse);
    return {run.output, run.last_hidden};
  }
  const auto made =
      ops::_rnn_layer(input, hidden, w.ih, w.hh, w.bias_ih, w.bias_hh, relu, batch_sizes, reverse);
  return {std::get<0>(made), std::get<1>(made)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_rows(const Tensor& rows, IntList batch_sizes, TensorList hx,
                                             TensorList params, const Options& options) {
  MT_CHECK(hx.size() == 2, "lstm expects two hidden states");
  check_devices(rows, params, hx);
  const Tensor &hidden = hx[0], &cell = hx[1];
  MT_CHECK(hidden.dim() == 3 && cell.dim() == 3, "the states of an LSTM must have 3 dimensions, got ",
           hidden.dim(), " and ", cell.dim());
  const Parameters parameters(params, options, hidden.size(2) != cell.size(2));
  Lasts last;
  const Tensor output =
      stacked(rows, parameters, options, last,
              [&](const Tensor& input, const Weights& w, int64_t place, bool reverse, Lasts& lasts) {
                const Tensor h = state_at(hidden, place), c = state_at(cell, place);
                const recurrent::LstmRun run = lstm_layer(input, h, c, w, batch_sizes, reverse);
                lasts[0].push_back(run.last_hidden), lasts[1].push_back(run.last_cell);
                return run.output;
              });
  return {output, joined_last(last[0]), joined_last(last[1])};
}

// Networks with one state. run(input, hidden, weights, reverse): outputs and last state of a layer.
template <class Run>
std::tuple<Tensor, Tensor> one_state_rows(const Tensor& rows, const Tensor& hx, TensorList params,
                                          const Options& options, Run&& run) {
  check_devices(rows, params, TensorList(&hx, 1));
  MT_CHECK(hx.dim() == 3, "the state of a recurrent network must have 3 dimensions, got ", hx.dim());
  const Parameters parameters(params, options, false);
  Lasts last;
  const Tensor output =
      stacked(rows, parameters, options, last,
              [&](const Tensor& input, const Weights& w, int64_t place, bool reverse, Lasts& lasts) {
                const auto [made, end] = run(input, state_at(hx, place), w, reverse);
                lasts[0].push_back(end);
                return made;
              });
  return {output, joined_last(last[0])};
}

std::tuple<Tensor, Tensor> gru_rows(const Tensor& rows, IntList batch_sizes, const Tensor& hx,
                                    TensorList params, const Options& options) {
  return one_state_rows(rows, hx, params, options,
                        [&](const Tensor& input, const Tensor& hidden, const Weights& w,
                            bool reverse) -> std::pair<Tensor, Tensor> {
                          return gru_layer(input, hidden, w, batch_sizes, reverse);
                        });
}

std::tuple<Tensor, Tensor> rnn_rows(const Tensor& rows, IntList batch_sizes, const Tensor& hx,
                                    TensorList params, const Options& options, bool relu) {
  return one_state_rows(rows, hx, params, options,
                        [&](const Tensor& input, const Tensor& hidden, const Weights& w,
                            bool reverse) -> std::pair<Tensor, Tensor> {
                          return rnn_layer(input, hidden, w, relu, batch_sizes, reverse);
                        });
}

void check_cell(const Tensor& input, const Tensor& hidden, const Tensor& w_ih, const Tensor& w_hh,
                int64_t gates) {
  MT_CHECK(input.dim() == 2 && hidden.dim() == 2 && w_ih.dim() == 2 && w_hh.dim() == 2,
           "a recurrent cell takes matrices, but got an input of ", input.dim(), " dimensions, a state of ",
           hidden.dim(), " and weights of ", w_ih.dim(), " and ", w_hh.dim());
  MT_CHECK(input.size(1) == w_ih.size(1), "input has inconsistent input_size: got ", input.size(1),
           " expected ", w_ih.size(1));
  MT_CHECK(input.size(0) == hidden.size(0), "Input batch size ", input.size(0),
           " doesn't match hidden0 batch size ", hidden.size(0));
  const int64_t width = w_hh.size(1);
  MT_CHECK(w_ih.size(0) == gates * width, "weight_ih first dim must be ", gates,
           " * hidden_size = ", gates * width, ", but got ", w_ih.size(0));
  MT_CHECK(hidden.size(1) == width, "hidden0 has inconsistent hidden_size: got ", hidden.size(1),
           ", expected ", width);
}

// Last states, not outputs: those are kept for backward, and programs may write into what they get.
Tensor plain_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                  const Tensor& b_ih, const Tensor& b_hh, bool relu) {
  check_cell(input, hx, w_ih, w_hh, 1);
  return rnn_layer(input, hx, {w_ih, w_hh, b_ih, b_hh}, relu, Dims{input.size(0)}, false).second;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorList hx, TensorList params,
                                        bool has_biases, int64_t num_layers, double dropout, bool train,
                                        bool bidirectional, bool batch_first) {
  const Padded padded(input, batch_first);
  const auto [output, hidden, cell] = lstm_rows(padded.rows, padded.batch_sizes, hx, params,
                                                {has_biases, num_layers, dropout, train, bidirectional});
  return {padded.unpacked(output), hidden, cell};
}
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& data, const Tensor& batch_sizes, TensorList hx,
                                        TensorList params, bool has_biases, int64_t num_layers,
                                        double dropout, bool train, bool bidirectional) {
  return lstm_rows(data, sizes_of(data, batch_sizes), hx, params,
                   {has_biases, num_layers, dropout, train, bidirectional});
}

std::tuple<Tensor, Tensor> gru(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,
                               int64_t num_layers, double dropout, bool train, bool bidirectional,
                               bool batch_first) {
  const Padded padded(input, batch_first);
  const auto [output, hidden] = gru_rows(padded.rows, padded.batch_sizes, hx, params,
                                         {has_biases, num_layers, dropout, train, bidirectional});
  return {padded.unpacked(output), hidden};
}
std::tuple<Tensor, Tensor> gru(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                               TensorList params, bool has_biases, int64_t num_layers, double dropout,
                               bool train, bool bidirectional) {
  return gru_rows(data, sizes_of(data, batch_sizes), hx, params,
                  {has_biases, num_layers, dropout, train, bidirectional});
}

#define MT_RNN(name, relu)                                                                                   \
  std::tuple<Tensor, Tensor> name(const Tensor& input, const Tensor& hx, TensorList params, bool has_biases, \
                                  int64_t num_layers, double dropout, bool train, bool bidirectional,        \
                                  bool batch_first) {                                                        \
    const Padded padded(input, batch_first);                                                                 \
    const auto [output, hidden] = rnn_rows(padded.rows, padded.batch_sizes, hx, params,                      \
                                           {has_biases, num_layers, dropout, train, bidirectional}, relu);   \
    return {padded.unpacked(output), hidden};                                                                \
  }                                                                                                          \
  std::tuple<Tensor, Tensor> name(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,           \
                                  TensorList params, bool has_biases, int64_t num_layers, double dropout,    \
                                  bool train, bool bidirectional) {                                          \
    return rnn_rows(data, sizes_of(data, batch_sizes), hx, params,                                           \
                    {has_biases, num_layers, dropout, train, bidirectional}, relu);                          \
  }                                                                                                          \
  Tensor name##_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,          \
                     const Tensor& b_ih, const Tensor& b_hh) {                                               \
    return plain_cell(input, hx, w_ih, w_hh, b_ih, b_hh, relu);                                              \
  }
MT_RNN(rnn_tanh, false)
MT_RNN(rnn_relu, true)
#undef MT_RNN

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih,
                                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  MT_CHECK(hx.size() == 2, "lstm_cell expects two hidden states");
  check_cell(input, hx[0], w_ih, w_hh, 4);
  const recurrent::LstmRun run =
      lstm_layer(input, hx[0], hx[1], {w_ih, w_hh, b_ih, b_hh}, Dims{input.size(0)}, false);
  return {run.last_hidden, run.last_cell};
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh) {
  check_cell(input, hx, w_ih, w_hh, 3);
  return gru_layer(input, hx, {w_ih, w_hh, b_ih, b_hh}, Dims{input.size(0)}, false).second;
}

}  // namespace mt::composites
