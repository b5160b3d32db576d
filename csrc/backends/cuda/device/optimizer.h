// Steps over lists of tensors in one launch: Adam, AdamW, SGD, Adagrad, what gradient scaling needs, and functors over lists.
//
// Launch: block 256, grid `chunks[number]`: a block takes kListChunk elements of one tensor. Lists that are longer than
// kMaxListed tensors take several launches. T: parameters and state; G: gradients; computes in float, or double for double.
//   adam_stepped<T, G, amsgrad, decoupled>(StepCall): data: parameter, gradient, mean, mean of squares, largest of them.
//   sgd_stepped<T, G, with_momentum>: parameter, gradient, momentum. adagrad_stepped<T, G>: parameter, gradient, sum.
//   Steps count what has been done with this one in it; nothing is done where found_inf is 1.
//   unscaled<T>(UnscaleCall): data[0] times factor; found_inf becomes 1 where something is not finite.
//   scale_updated(ScaleCall): one thread.
//   listed<F, T, inputs>(ListedCall): functor F over lists: data[0] = F(data[1], ...), parameters in `numbers`.
#pragma once

#include "backends/cuda/device/block.h"
#include "backends/cuda/device/calls.h"

namespace mt::cuda {

struct ListedCall {
  ListCall lists;
  alignas(16) char numbers[4 * 16];  // of the compute type
};

// The tensor of this block and its first element.
struct ListPlace {
  int tensor;
  int64_t begin, end;
};
inline ListPlace list_place(const ListCall& lists) {
  int low = 0, high = lists.number - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (lists.chunks[middle] <= int(blockIdx.x)) low = middle;
    else high = middle - 1;
  }
  const int64_t begin = int64_t(int(blockIdx.x) - lists.chunks[low]) * kListChunk;
  const int64_t end = begin + kListChunk < lists.counts[low] ? begin + kListChunk : lists.counts[low];
  return {low, begin, end};
}

template <class C> C rate_of(const StepCall& call) {
  return call.rate_at ? C(*static_cast<const float*>(call.rate_at)) : C(call.rate);
}
// The gradient as a step takes it: unscaled, in memory too, and turned around for maxima.
template <class C, class G> C gradient_of(const StepCall& call, G* at) {
  C g = cast<C>(*at);
  if (call.scale) {
    g = g / C(*call.scale);
    *at = cast<G>(g);
  }
  return call.maximize ? -g : g;
}

template <class T, class G, bool kLargest, bool kDecoupled> void adam_stepped(const StepCall& call) {
  using C = compute_t<T>;
  if (call.found_inf && *call.found_inf == 1.0f) return;
  const ListPlace place = list_place(call.lists);
  void* const* data = call.lists.data[place.tensor];
  const C rate = rate_of<C>(call), beta1 = C(call.beta1), beta2 = C(call.beta2), decay = C(call.weight_decay);
  const double step = *static_cast<const float*>(call.steps[place.tensor]);
  const C correction1 = C(1.0 - ::pow(call.beta1, step)), correction2 = C(1.0 - ::pow(call.beta2, step));
  const C size = rate / correction1, root = std::sqrt(correction2);
  for (int64_t i = place.begin + threadIdx.x; i < place.end; i += blockDim.x) {
    T& parameter = static_cast<T*>(data[0])[i];
    T& mean = static_cast<T*>(data[2])[i];
    T& square = static_cast<T*>(data[3])[i];
    C p = cast<C>(parameter), g = gradient_of<C>(call, static_cast<G*>(data[1]) + i);
    if constexpr (kDecoupled) p -= rate * decay * p;
    else g += decay * p;
    const C m = beta1 * cast<C>(mean) + (C(1) - beta1) * g,
            v = beta2 * cast<C>(square) + (C(1) - beta2) * g * g;
    C seen = v;
    if constexpr (kLargest) {
      T& largest = static_cast<T*>(data[4])[i];
      seen = kernels::math::maximum(cast<C>(largest), v);
      largest = cast<T>(seen);
    }
    p -= size * m / (std::sqrt(seen) / root + C(call.eps));
    parameter = cast<T>(p);
    mean = cast<T>(m);
    square = cast<T>(v);
  }
}

template <class T, class G, bool kMomentum> void sgd_stepped(const StepCall& call) {
  using C = compute_t<T>;
  if (call.found_inf && *call.found_inf == 1.0f) return;
  const ListPlace place = list_place(call.lists);
  void* const* data = call.lists.data[place.tensor];
  const C rate = rate_of<C>(call);
  for (int64_t i = place.begin + threadIdx.x; i < place.end; i += blockDim.x) {
    T& parameter = static_cast<T*>(data[0])[i];
    const C p = cast<C>(parameter);
    C g = gradient_of<C>(call, static_cast<G*>(data[1]) + i) + C(call.weight_decay) * p;
    if constexpr (kMomentum) {
      T& kept = static_cast<T*>(data[2])[i];
      const C momentum = call.first ? g : C(call.momentum) * cast<C>(kept) + (C(1) - C(call.dampening)) * g;
      kept = cast<T>(momentum);
      g = call.nesterov ? g + C(call.momentum) * momentum : momentum;
    }
    parameter = cast<T>(p - rate * g);
  }
}

template <class T, class G> void adagrad_stepped(const StepCall& call) {
  using C = compute_t<T>;
  if (call.found_inf && *call.found_inf == 1.0f) return;
  const ListPlace place = list_place(call.lists);
  void* const* data = call.lists.data[place.tensor];
  const C step = C(*static_cast<const float*>(call.steps[place.tensor]));
  const C rate = rate_of<C>(call) / (C(1) + (step - C(1)) * C(call.rate_decay));
  for (int64_t i = place.begin + threadIdx.x; i < place.end; i += blockDim.x) {
    T& parameter = static_cast<T*>(data[0])[i];
    T& sum = static_cast<T*>(data[2])[i];
    const C p = cast<C>(parameter),
            g = gradient_of<C>(call, static_cast<G*>(data[1]) + i) + C(call.weight_decay) * p;
    const C all = cast<C>(sum) + g * g;
    sum = cast<T>(all);
    parameter = cast<T>(p - rate * g / (std::sqrt(all) + C(call.eps)));
  }
}

template <class T> void unscaled(const UnscaleCall& call) {
  using C = compute_t<T>;
  const ListPlace place = list_place(call.lists);
  T* data = static_cast<T*>(call.lists.data[place.tensor][0]);
  const C factor = C(*call.factor);
  for (int64_t i = place.begin + threadIdx.x; i < place.end; i += blockDim.x) {
    const C value = cast<C>(data[i]);
    if (!std::isfinite(value)) *call.found_inf = 1.0f;  // whoever writes, writes the same
    data[i] = cast<T>(factor == C(1) ? value : value * factor);
  }
}
// A scale that grew beyond what a float holds stays as it was.
inline void scale_updated(const ScaleCall& call) {
  if (*call.found_inf != 0.0f) {
    *call.scale = float(double(*call.scale) * call.backoff);
    *call.successes = 0;
  } else if (*call.successes + 1 == call.interval) {
    const float grown = float(double(*call.scale) * call.growth);
    if (std::isfinite(grown)) *call.scale = grown;
    *call.successes = 0;
  } else {
    ++*call.successes;
  }
}

template <class F, class T, int kInputs> void listed(const ListedCall& call) {
  using C = compute_t<T>;
  const ListPlace place = list_place(call.lists);
  void* const* data = call.lists.data[place.tensor];
  const C* p = reinterpret_cast<const C*>(call.numbers);
  const auto input = [&](int k, int64_t i) { return C(static_cast<const T*>(data[k])[i]); };
  for (int64_t i = place.begin + threadIdx.x; i < place.end; i += blockDim.x) {
    T& out = static_cast<T*>(data[0])[i];
    if constexpr (kInputs == 1) out = cast<T>(F::apply(input(1, i), p));
    else if constexpr (kInputs == 2) out = cast<T>(F::apply(input(1, i), input(2, i), p));
    else out = cast<T>(F::apply(input(1, i), input(2, i), input(3, i), p));
  }
}

}  // namespace mt::cuda
