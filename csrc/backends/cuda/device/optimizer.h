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
// How often steps have been taken, with this one in it.
inline float count_of(const StepCall& call, int tensor) {
  return call.steps[tensor] ? *static_cast<const float*>(call.steps[tensor]) : call.counted[tensor];
}

// step(parameter, gradient, state) for this thread's elements of a tensor, several of which are read and written at
// once. The gradient is as a step takes it: unscaled, in memory too, and turned around for maxima. `fresh`: there is
// nothing in the state yet.
template <class T, class G, int kStates> struct StepMemory {
  using C = compute_t<T>;
  const StepCall& call;
  void* const* data;
  bool fresh;

  template <int kTogether, class F> void take(int64_t i, F step) const {
    using Own = Several<T, kTogether>;
    using Gradients = Several<G, kTogether>;
    Own& parameter = reinterpret_cast<Own&>(static_cast<T*>(data[0])[i]);
    Gradients& gradient = reinterpret_cast<Gradients&>(static_cast<G*>(data[1])[i]);
    Own p = parameter, states[kStates ? kStates : 1] = {};
    Gradients g = gradient;
#pragma unroll
    for (int s = 0; s < kStates; ++s)
      if (!fresh) states[s] = reinterpret_cast<Own&>(static_cast<T*>(data[2 + s])[i]);
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      C own = cast<C>(p.value[j]), up = cast<C>(g.value[j]), state[kStates ? kStates : 1] = {};
      if (call.scale) {
        up = up / C(*call.scale);
        g.value[j] = cast<G>(up);
      }
#pragma unroll
      for (int s = 0; s < kStates; ++s) state[s] = cast<C>(states[s].value[j]);
      step(own, call.maximize ? -up : up, state);
      p.value[j] = cast<T>(own);
#pragma unroll
      for (int s = 0; s < kStates; ++s) states[s].value[j] = cast<T>(state[s]);
    }
    parameter = p;
    if (call.scale) gradient = g;
#pragma unroll
    for (int s = 0; s < kStates; ++s) reinterpret_cast<Own&>(static_cast<T*>(data[2 + s])[i]) = states[s];
  }

  template <class F> void each(const ListPlace& place, F step) const {
    constexpr int together = 16 / sizeof(T);
    bool grouped = reinterpret_cast<uintptr_t>(data[1]) % (together * sizeof(G)) == 0;
    for (int list = 0; list < 2 + kStates; ++list)
      if (list != 1) grouped &= reinterpret_cast<uintptr_t>(data[list]) % 16 == 0;
    const int64_t groups = grouped ? (place.end - place.begin) / together : 0;
    for (int64_t g = threadIdx.x; g < groups; g += blockDim.x)
      take<together>(place.begin + g * together, step);
    for (int64_t i = place.begin + groups * together + threadIdx.x; i < place.end; i += blockDim.x)
      take<1>(i, step);
  }
};

template <class T, class G, bool kLargest, bool kDecoupled> void adam_stepped(const StepCall& call) {
  using C = compute_t<T>;
  constexpr int states = kLargest ? 3 : 2;
  if (call.found_inf && *call.found_inf == 1.0f) return;
  const ListPlace place = list_place(call.lists);
  const C rate = rate_of<C>(call), beta1 = C(call.beta1), beta2 = C(call.beta2), decay = C(call.weight_decay);
  const double count = count_of(call, place.tensor);
  const C correction1 = C(1.0 - ::pow(call.beta1, count)), correction2 = C(1.0 - ::pow(call.beta2, count));
  const C size = rate / correction1, root = std::sqrt(correction2);
  const auto step = [&](C& p, C g, C(&state)[states]) {
    if constexpr (kDecoupled) p -= rate * decay * p;
    else g += decay * p;
    const C mean = beta1 * state[0] + (C(1) - beta1) * g, square = beta2 * state[1] + (C(1) - beta2) * g * g;
    state[0] = mean;
    state[1] = square;
    C seen = square;
    if constexpr (kLargest) seen = state[2] = kernels::math::maximum(state[2], square);
    p -= size * mean / (std::sqrt(seen) / root + C(call.eps));
  };
  StepMemory<T, G, states>{call, call.lists.data[place.tensor], false}.each(place, step);
}

template <class T, class G, bool kMomentum> void sgd_stepped(const StepCall& call) {
  using C = compute_t<T>;
  if (call.found_inf && *call.found_inf == 1.0f) return;
  const ListPlace place = list_place(call.lists);
  const C rate = rate_of<C>(call), kept = C(call.momentum), taken = C(1) - C(call.dampening);
  const auto step = [&](C& p, C g, C(&momentum)[1]) {
    g += C(call.weight_decay) * p;
    if constexpr (kMomentum) {
      momentum[0] = call.first ? g : kept * momentum[0] + taken * g;
      g = call.nesterov ? g + kept * momentum[0] : momentum[0];
    }
    p -= rate * g;
  };
  StepMemory<T, G, kMomentum ? 1 : 0>{call, call.lists.data[place.tensor], call.first != 0}.each(place, step);
}

template <class T, class G> void adagrad_stepped(const StepCall& call) {
  using C = compute_t<T>;
  if (call.found_inf && *call.found_inf == 1.0f) return;
  const ListPlace place = list_place(call.lists);
  const C before = C(count_of(call, place.tensor)) - C(1);
  const C rate = rate_of<C>(call) / (C(1) + before * C(call.rate_decay));
  const auto step = [&](C& p, C g, C(&sum)[1]) {
    g += C(call.weight_decay) * p;
    sum[0] += g * g;
    p -= rate * g / (std::sqrt(sum[0]) + C(call.eps));
  };
  StepMemory<T, G, 1>{call, call.lists.data[place.tensor], false}.each(place, step);
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
