// Losses that compare two tensors element by element, and negative log likelihood; forward and backward.
//
// Launch: block 256, any grid, unless said otherwise. kind: kernels::PointwiseLoss.
//   loss_each<T, kind>(LossCall): a loss for each element. loss_folded<T, kind>: sums in parts, one for each block, then
//   loss_finished<T>: one block of 256 adds up `walk.count` parts (here: their number), times `scale`.
//   loss_backward<T, kind, of_target>: gradient * slope * scale.
//   nll_each<T>(NllCall), nll_folded<T> (one block, or parts for each of `blocks`, which one block adds up in nll_finished<T>:
//   the order of the sum is fixed), nll_backward<T> (a thread for each sample; out is zero before).
#pragma once

#include "backends/cuda/device/places.h"
#include "kernels/loss/pointwise_math.h"

namespace mt::cuda {

using kernels::PointwiseLoss;

template <class T> compute_t<T> given_or_one(const Walk& walk, const Places& places, const int64_t* at) {
  return places.data ? compute_t<T>(element<T>(walk, places, at)) : compute_t<T>(1);
}

template <class T, PointwiseLoss kKind> compute_t<T> loss_at(const LossCall& call, const int64_t* at) {
  using C = compute_t<T>;
  const C x = C(element<T>(call.walk, call.in, at)), t = C(element<T>(call.walk, call.target, at));
  const C pos = given_or_one<T>(call.walk, call.pos_weight, at);
  const kernels::Width<C> width = {C(call.beta), C(1) / C(call.beta)};
  return kernels::value_of<kKind>(x, t, pos, width) * given_or_one<T>(call.walk, call.weight, at);
}
template <class T, PointwiseLoss kKind> void loss_each(const LossCall& call) {
  walk_over(call.walk, [&](int64_t, const int64_t* at) {
    element<T>(call.walk, call.out, at) = cast<T>(loss_at<T, kKind>(call, at));
  });
}
template <class T, PointwiseLoss kKind> void loss_folded(const LossCall& call) {
  using C = compute_t<T>;
  C mine = 0;
  walk_over(call.walk, [&](int64_t, const int64_t* at) { mine += loss_at<T, kKind>(call, at); });
  const C all = sum_block(mine);
  if (threadIdx.x == 0) static_cast<C*>(call.parts)[blockIdx.x] = all;
}
template <class T> void loss_finished(const LossCall& call) {
  using C = compute_t<T>;
  C mine = 0;
  for (int64_t i = threadIdx.x; i < call.walk.count; i += blockDim.x)
    mine += static_cast<const C*>(call.parts)[i];
  const C all = sum_block(mine);
  if (threadIdx.x == 0) *static_cast<T*>(call.out.data) = cast<T>(all * C(call.scale));
}
template <class T, PointwiseLoss kKind, bool kOfTarget> void loss_backward(const LossCall& call) {
  using C = compute_t<T>;
  walk_over(call.walk, [&](int64_t, const int64_t* at) {
    const C x = C(element<T>(call.walk, call.in, at)), t = C(element<T>(call.walk, call.target, at));
    const C pos = given_or_one<T>(call.walk, call.pos_weight, at);
    C slope;
    if constexpr (kOfTarget) slope = kernels::target_slope_of<kKind>(x, t, pos);
    else slope = kernels::slope_of<kKind>(x, t, pos, kernels::Width<C>{C(call.beta), C(1) / C(call.beta)});
    const C gradient = C(element<T>(call.walk, call.gradient, at)) * C(call.scale);
    element<T>(call.walk, call.out, at) =
        cast<T>(slope * gradient * given_or_one<T>(call.walk, call.weight, at));
  });
}

// Where the score of a sample's target stands.
inline int64_t nll_place(const NllCall& call, int64_t sample, int64_t target) {
  return (sample / call.places * call.classes + target) * call.places + sample % call.places;
}
// Loss and weight of a sample; nothing for the target that is ignored.
template <class C> struct Likelihood {
  C loss, weight;
};
template <class T> Likelihood<compute_t<T>> nll_at(const NllCall& call, int64_t sample) {
  using C = compute_t<T>;
  const int64_t target = call.target[sample];
  if (target == call.ignored) return {C(0), C(0)};
  checked_index(target, call.classes, false);
  const C weight = call.weight ? C(static_cast<const T*>(call.weight)[target]) : C(1);
  return {-weight * C(static_cast<const T*>(call.scores)[nll_place(call, sample, target)]), weight};
}
template <class T> void nll_each(const NllCall& call) {
  for (int64_t i = first_index(); i < call.samples; i += grid_step()) {
    const auto made = nll_at<T>(call, i);
    static_cast<T*>(call.out)[i] = cast<T>(made.loss);
    if (i == 0) *static_cast<T*>(call.total_weight) = cast<T>(call.alone ? made.weight : compute_t<T>(0));
  }
}
template <class C> Likelihood<C> nll_added(Likelihood<C> mine) {
  return fold_block(mine, Likelihood<C>{C(0), C(0)}, [](Likelihood<C> a, Likelihood<C> b) {
    return Likelihood<C>{a.loss + b.loss, a.weight + b.weight};
  });
}
template <class T, class C> void nll_stored(const NllCall& call, Likelihood<C> all) {
  *static_cast<T*>(call.out) = cast<T>(call.reduction == 1 ? all.loss / all.weight : all.loss);
  *static_cast<T*>(call.total_weight) = cast<T>(all.weight);
}
template <class T> void nll_folded(const NllCall& call) {
  using C = compute_t<T>;
  Likelihood<C> mine = {C(0), C(0)};
  for (int64_t i = first_index(); i < call.samples; i += grid_step()) {
    const auto made = nll_at<T>(call, i);
    mine = {mine.loss + made.loss, mine.weight + made.weight};
  }
  const auto all = nll_added(mine);
  if (threadIdx.x > 0) return;
  if (call.parts) static_cast<Likelihood<C>*>(call.parts)[blockIdx.x] = all;
  else nll_stored<T>(call, all);
}
template <class T> void nll_finished(const NllCall& call) {
  using C = compute_t<T>;
  Likelihood<C> mine = {C(0), C(0)};
  for (int64_t i = threadIdx.x; i < call.blocks; i += blockDim.x) {
    const auto part = static_cast<const Likelihood<C>*>(call.parts)[i];
    mine = {mine.loss + part.loss, mine.weight + part.weight};
  }
  const auto all = nll_added(mine);
  if (threadIdx.x == 0) nll_stored<T>(call, all);
}
template <class T> void nll_backward(const NllCall& call) {
  using C = compute_t<T>;
  const C divisor = call.reduction == 1 ? C(*static_cast<const T*>(call.total_weight)) : C(1);
  for (int64_t i = first_index(); i < call.samples; i += grid_step()) {
    const int64_t target = call.target[i];
    if (target == call.ignored) continue;
    checked_index(target, call.classes, false);
    const C weight = call.weight ? C(static_cast<const T*>(call.weight)[target]) : C(1);
    const C gradient = C(static_cast<const T*>(call.gradient)[call.reduction == 0 ? i : 0]);
    static_cast<T*>(call.out)[nll_place(call, i, target)] = cast<T>(-weight * gradient / divisor);
  }
}

}  // namespace mt::cuda
