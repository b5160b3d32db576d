// Parameters that all slices share stay parameters of the operator; those of slices are applied behind it. Gradients of
// parameters are sums over each slice alone, which the operator does not make.
#include "generated/batch/normalization.h"

#include "generated/ops/binary.h"
#include "generated/ops/creation.h"
#include "generated/ops/normalization.h"
#include "generated/ops/reduce.h"
#include "generated/ops/view.h"
#include "transforms/channels.h"

namespace mt::batch {
namespace {

constexpr int64_t kInput = 1, kWeight = 2, kBias = 4;

int64_t number(const Call& call, size_t i) { return std::get<int64_t>(call.arguments[i]); }

// A gradient that nobody asked for is empty, as the operator makes it.
Tensor nothing(const Call& call, const Tensor& like) {
  return ops::new_empty(like, Dims{call.size, 0}, TensorOptions{});
}

Tensor summed(const Tensor& t, IntList dims) {
  return dims.empty() ? t : ops::sum(t, DimList(dims), false, std::nullopt);
}

struct Affine {
  Tensor weight, bias;  // of slices, in the shape of the result

  Tensor apply(Tensor out) const {
    if (weight.defined()) out = ops::mul(out, weight);
    return bias.defined() ? ops::add(out, bias) : out;
  }
};

// (batch, channels) beside (batch, n, channels, …).
Tensor for_channels(const Tensor& parameter, int64_t rank) {
  Dims sizes{parameter.sizes()[0], 1, parameter.sizes()[1]};
  while (int64_t(sizes.size()) < rank) sizes.push_back(1);
  return ops::view(parameter, sizes);
}

}  // namespace

// (input, normalized_shape, weight, bias, eps)
Values layer_norm(Call& call) {
  Values values(call.arguments);
  values[0] = call.batch(0);
  const bool own = call.batched(2) || call.batched(3);
  for (size_t i : {2, 3})
    if (!is_none(values[i])) values[i] = own ? Value() : Value(call.value(i));
  Values results = call.run(std::move(values));
  if (own) {
    Affine affine;
    if (call.given(2).defined()) affine.weight = with_rank(call.batch(2), call.rank(0));
    if (call.given(3).defined()) affine.bias = with_rank(call.batch(3), call.rank(0));
    results[0] = affine.apply(std::get<Tensor>(results[0]));
  }
  return results;
}

// (grad_output, input, normalized_shape, mean, rstd, weight, needs)
Values layer_norm_backward(Call& call) {
  const Tensor input = call.batch(1), mean = call.batch(3), rstd = call.batch(4);
  const Tensor grad = call.batch(0);
  const Dims& shape = std::get<Dims>(call.arguments[2]);
  const int64_t needs = number(call, 6);
  Tensor grad_input = nothing(call, input), grad_weight = grad_input, grad_bias = grad_input;
  if (needs & kInput) {
    const bool own = call.batched(5);
    const Tensor from = own ? ops::mul(grad, with_rank(call.value(5), call.rank(0))) : grad;
    grad_input = std::get<0>(
        ops::_layer_norm_backward(from, input, shape, mean, rstd, own ? Tensor() : call.value(5), kInput));
  }
  Dims outer;
  for (int64_t d = 1; d <= call.rank(0) - int64_t(shape.size()); ++d) outer.push_back(d);
  if (needs & kWeight) grad_weight = summed(ops::mul(grad, ops::mul(ops::sub(input, mean), rstd)), outer);
  if (needs & kBias) grad_bias = summed(grad, outer);
  return {grad_input, grad_weight, grad_bias};
}

// (input, weight, bias, N, C, HxW, group, eps)
Values group_norm(Call& call) {
  Values values(call.arguments);
  values[0] = folded(call.batch(0));
  const bool own = call.batched(1) || call.batched(2);
  for (size_t i : {1, 2})
    if (!is_none(values[i])) values[i] = own ? Value() : Value(call.value(i));
  values[3] = number(call, 3) * call.size;
  Values results = call.run(std::move(values));
  for (Value& each : results) each = unfolded(std::get<Tensor>(each), call.size);
  if (own) {
    Affine affine;
    if (call.given(1).defined()) affine.weight = for_channels(call.batch(1), call.rank(0) + 1);
    if (call.given(2).defined()) affine.bias = for_channels(call.batch(2), call.rank(0) + 1);
    results[0] = affine.apply(std::get<Tensor>(results[0]));
  }
  return results;
}

// (grad_output, input, mean, rstd, weight, N, C, HxW, group, needs)
Values group_norm_backward(Call& call) {
  const Tensor grad = call.batch(0), input = call.batch(1), mean = call.batch(2), rstd = call.batch(3);
  const int64_t n = number(call, 5), c = number(call, 6), hxw = number(call, 7), group = number(call, 8);
  const int64_t needs = number(call, 9);
  Tensor grad_input = nothing(call, input), grad_weight = grad_input, grad_bias = grad_input;
  if (needs & kInput) {
    const bool own = call.batched(4);
    const Tensor from = own ? ops::mul(grad, for_channels(call.value(4), call.rank(0) + 1)) : grad;
    grad_input = unfolded(std::get<0>(ops::_group_norm_backward(folded(from), folded(input), folded(mean),
                                                                folded(rstd), own ? Tensor() : call.value(4),
                                                                n * call.size, c, hxw, group, kInput)),
                          call.size);
  }
  const Dims planes{call.size, n, c, hxw}, dims{1, 3};
  if (needs & kWeight) {
    const Dims groups{call.size, n, group, c / group * hxw}, statistics{call.size, n, group, 1};
    const Tensor normal =
        ops::mul(ops::sub(input.reshape(groups), mean.reshape(statistics)), rstd.reshape(statistics));
    grad_weight = summed(ops::mul(grad.reshape(planes), normal.reshape(planes)), dims);
  }
  if (needs & kBias) grad_bias = summed(grad.reshape(planes), dims);
  return {grad_input, grad_weight, grad_bias};
}

// (input, weight, bias, running_mean, running_var, training, …): slices become channels.
Values batch_norm(Call& call) {
  const bool training = std::get<bool>(call.arguments[5]);
  for (size_t i : {3, 4})
    MT_CHECK(
        !training || !call.given(i).defined() || call.batched(i),
        "Batch norm got a batched tensor as input while the running_mean or running_var, which will be "
        "updated in place, were not batched.\nIf you are using modules and do not need eval mode, please "
        "set `track_running_stats` to be False.If you are using a prebuilt module and do not need eval "
        "mode, please see the functorch website for resources on how to patch your module to work with "
        "vmap");
  Values values(call.arguments);
  values[0] = beside(call.batch(0));
  for (size_t i = 1; i < 5; ++i)
    if (!is_none(values[i])) values[i] = folded(call.batch(i));
  Values results = call.run(std::move(values));
  results[0] = apart(std::get<Tensor>(results[0]), call.size);
  for (size_t i : {1, 2}) results[i] = unfolded(std::get<Tensor>(results[i]), call.size);
  return results;
}

// (grad_output, input, weight, running_mean, running_var, save_mean, save_invstd, training, eps, needs)
Values batch_norm_backward(Call& call) {
  Values values(call.arguments);
  for (size_t i : {0, 1}) values[i] = beside(call.batch(i));
  for (size_t i = 2; i < 7; ++i)
    if (!is_none(values[i])) values[i] = folded(call.batch(i));
  Values results = call.run(std::move(values));
  const Tensor& input = std::get<Tensor>(results[0]);
  results[0] = input.dim() > 1 ? apart(input, call.size) : unfolded(input, call.size);
  for (size_t i : {1, 2}) results[i] = unfolded(std::get<Tensor>(results[i]), call.size);
  return results;
}

}  // namespace mt::batch
