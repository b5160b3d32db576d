#include "kernels/resample/resample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"
#include "kernels/common/planes.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

template <class T>
using wide_t = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, double, float>;

// One dimension of a dense block [outer, taps.in, inner] -> [outer, taps.out, inner].
template <class C>
void pass(const C* in, C* out, int64_t outer, int64_t inner, const Taps& taps, const C* weights) {
  for (int64_t a = 0; a < outer; ++a) {
    const C* source = in + a * taps.in * inner;
    C* target = out + a * taps.out * inner;
    for (int64_t o = 0; o < taps.out; ++o, target += inner) {
      const C* w = weights + o * taps.width;
      const C* run = source + taps.first[size_t(o)] * inner;
      const int64_t count = taps.count[size_t(o)];
      if (inner == 1) {
        C sum = 0;
        for (int64_t k = 0; k < count; ++k) sum += w[k] * run[k];
        *target = sum;
        continue;
      }
      std::fill_n(target, inner, C(0));
      for (int64_t k = 0; k < count; ++k) {
        for (int64_t i = 0; i < inner; ++i) target[i] += w[k] * run[k * inner + i];
      }
    }
  }
}

template <class C>
void pass_transposed(const C* in, C* out, int64_t outer, int64_t inner, const Taps& taps, const C* weights) {
  std::fill_n(out, outer * taps.in * inner, C(0));
  for (int64_t a = 0; a < outer; ++a) {
    const C* source = in + a * taps.out * inner;
    for (int64_t o = 0; o < taps.out; ++o, source += inner) {
      const C* w = weights + o * taps.width;
      C* run = out + (a * taps.in + taps.first[size_t(o)]) * inner;
      for (int64_t k = 0; k < taps.count[size_t(o)]; ++k) {
        for (int64_t i = 0; i < inner; ++i) run[k * inner + i] += w[k] * source[i];
      }
    }
  }
}

template <class T, class C>
T leave(C value, ToInteger to_integer) {
  if constexpr (std::is_integral_v<T>) {
    // Sums were weighted by 1/n, so an exact quotient may have landed just below the integer.
    if (to_integer == ToInteger::truncate) return T(value + std::copysign(C(1e-6), value));
    const C low = C(std::numeric_limits<T>::min()), high = C(std::numeric_limits<T>::max());
    return T(std::clamp(std::nearbyint(value), low, high));
  } else {
    return cast<T>(value);
  }
}

template <class T>
void run(const View& in, const View& out, const std::vector<Taps>& taps, bool transposed,
         ToInteger to_integer) {
  using C = wide_t<T>;
  const int spatial = int(taps.size());
  const Planes from(in, spatial), to(out, spatial);
  std::vector<std::vector<C>> weights;
  for (const Taps& t : taps) weights.emplace_back(t.weights.begin(), t.weights.end());

  // Every step works on [outer, one dimension, inner]; the last dimension goes first.
  struct Step {
    int64_t outer, inner;
    size_t dim;
  };
  std::vector<Step> steps;
  std::vector<int64_t> sizes(in.sizes + in.ndim - spatial, in.sizes + in.ndim);
  int64_t largest = from.numel, work = from.numel;
  for (size_t d = taps.size(); d-- > 0;) {
    if (taps[d].identity()) continue;
    Step step{1, 1, d};
    for (size_t i = 0; i < d; ++i) step.outer *= sizes[i];
    for (size_t i = d + 1; i < taps.size(); ++i) step.inner *= sizes[i];
    sizes[d] = transposed ? taps[d].in : taps[d].out;
    steps.push_back(step);
    largest = std::max(largest, step.outer * sizes[d] * step.inner);
    work += step.outer * taps[d].out * step.inner * taps[d].width;
  }
  parallel_for(0, to.count, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 std::vector<C> first(static_cast<size_t>(largest)), second(static_cast<size_t>(largest));
                 for (int64_t plane = begin; plane < end; ++plane) {
                   C *current = first.data(), *other = second.data();
                   C* fill = current;
                   const T* source = from.at<const T>(plane);
                   for_each_in_plane(from, [&](int64_t at) { *fill++ = cast<C>(source[at]); });
                   for (const Step& s : steps) {
                     (transposed ? pass_transposed<C> : pass<C>)(current, other, s.outer, s.inner,
                                                                 taps[s.dim], weights[s.dim].data());
                     std::swap(current, other);
                   }
                   T* target = to.at<T>(plane);
                   for_each_in_plane(to, [&](int64_t at) { target[at] = leave<T>(*current++, to_integer); });
                 }
               });
}

}  // namespace

void resample(const View& in, const View& out, const std::vector<Taps>& taps, ToInteger to_integer) {
  if (out.numel() == 0) return;
  dispatch<domains::real>(in.dtype, "resample", [&](auto tag) {
    run<typename decltype(tag)::type>(in, out, taps, false, to_integer);
  });
}

void resample_transposed(const View& in, const View& out, const std::vector<Taps>& taps) {
  if (out.numel() == 0) return;
  dispatch<domains::floating>(in.dtype, "resample_backward", [&](auto tag) {
    run<typename decltype(tag)::type>(in, out, taps, true, ToInteger::round);
  });
}

}  // namespace mt::kernels
