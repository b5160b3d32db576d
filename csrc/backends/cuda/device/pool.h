// Maxima and averages over windows, and moving values between planes by positions; dense planes of up to three dimensions.
//
// Launch (PoolCall): block 256, any grid; elements of the result are strided over.
//   max_pooled<T>: fixed windows, adaptive ones, or fractional ones whose starts are given. NaN counts as the largest.
//   avg_pooled<T>, avg_pooled_backward<T>: fixed or adaptive; sums in a fixed order. Of integers only forward.
//   plane_scattered<T, accumulate>: out (zero before) at the indices (+)= gradient; out_size is the shape of the gradient,
//     in_size that of out. Accumulating is in no fixed order. plane_gathered<V>: out = in at the indices.
#pragma once

#include "backends/cuda/device/places.h"

namespace mt::cuda {

struct Window {
  int64_t begin, end, step, size;  // size: what an average divides by
};
inline Window window_at(const PoolCall& call, int d, int64_t plane, int64_t o) {
  const int64_t in = call.in_size[d], out = call.out_size[d];
  if (call.adaptive) {
    const int64_t begin = o * in / out, end = ((o + 1) * in + out - 1) / out;
    return {begin, end, 1, end - begin};
  }
  if (call.starts[d]) {
    const int64_t begin = call.starts[d][plane * out + o];
    return {begin, begin + call.kernel[d], 1, call.kernel[d]};
  }
  int64_t begin = o * call.stride[d] - call.padding[d];
  const int64_t whole = begin + (call.kernel[d] - 1) * call.dilation[d] + 1, end = whole < in ? whole : in;
  const int64_t padded_end = whole < in + call.padding[d] ? whole : in + call.padding[d];
  const int64_t padded = padded_end - begin;
  if (begin < 0) begin += (-begin + call.dilation[d] - 1) / call.dilation[d] * call.dilation[d];
  if (begin >= in) return {in - 1, in - 1, 1, call.count_padding ? padded : 0};  // nothing but padding
  return {begin, end, call.dilation[d], call.count_padding ? padded : end - begin};
}

// The element of a plane, and the plane.
struct PlanePlace {
  int64_t plane, at[3];
};
inline PlanePlace plane_place(const long long* sizes, int64_t n) {
  PlanePlace p;
  p.at[2] = n % sizes[2];
  n /= sizes[2];
  p.at[1] = n % sizes[1];
  n /= sizes[1];
  p.at[0] = n % sizes[0];
  p.plane = n / sizes[0];
  return p;
}
inline int64_t volume(const long long* sizes) { return sizes[0] * sizes[1] * sizes[2]; }

template <class T> void max_pooled(const PoolCall& call) {
  using C = compute_t<T>;
  for (int64_t n = first_index(); n < call.planes * volume(call.out_size); n += grid_step()) {
    const PlanePlace p = plane_place(call.out_size, n);
    const T* in = static_cast<const T*>(call.in) + p.plane * volume(call.in_size);
    const Window w0 = window_at(call, 0, p.plane, p.at[0]), w1 = window_at(call, 1, p.plane, p.at[1]),
                 w2 = window_at(call, 2, p.plane, p.at[2]);
    C best = kernels::lowest_value<C>();
    if constexpr (std::is_integral_v<T>) best = C(std::numeric_limits<T>::lowest());
    int64_t place = (w0.begin * call.in_size[1] + w1.begin) * call.in_size[2] + w2.begin;
    for (int64_t x = w0.begin; x < w0.end; x += w0.step)
      for (int64_t y = w1.begin; y < w1.end; y += w1.step)
        for (int64_t z = w2.begin; z < w2.end; z += w2.step) {
          const int64_t at = (x * call.in_size[1] + y) * call.in_size[2] + z;
          const C value = C(in[at]);
          if (value > best || kernels::math::is_nan(value)) best = value, place = at;
        }
    static_cast<T*>(call.out)[n] = cast<T>(best);
    if (call.indices) call.indices[n] = place;
  }
}

// What the sum of a window is divided by.
template <class C> C window_divisor(const PoolCall& call, const Window& a, const Window& b, const Window& c) {
  return C(call.divisor ? call.divisor : a.size * b.size * c.size);
}

template <class T> void avg_pooled(const PoolCall& call) {
  using C = std::conditional_t<std::is_integral_v<T>, double, compute_t<T>>;
  for (int64_t n = first_index(); n < call.planes * volume(call.out_size); n += grid_step()) {
    const PlanePlace p = plane_place(call.out_size, n);
    const T* in = static_cast<const T*>(call.in) + p.plane * volume(call.in_size);
    const Window w0 = window_at(call, 0, p.plane, p.at[0]), w1 = window_at(call, 1, p.plane, p.at[1]),
                 w2 = window_at(call, 2, p.plane, p.at[2]);
    C sum = C(0);
    for (int64_t x = w0.begin; x < w0.end; ++x)
      for (int64_t y = w1.begin; y < w1.end; ++y)
        for (int64_t z = w2.begin; z < w2.end; ++z)
          sum = sum + cast<C>(in[(x * call.in_size[1] + y) * call.in_size[2] + z]);
    static_cast<T*>(call.out)[n] = cast<T>(sum / window_divisor<C>(call, w0, w1, w2));
  }
}

// The outputs whose windows may hold element i: from first to last.
inline std::pair<int64_t, int64_t> outputs_over(const PoolCall& call, int d, int64_t i) {
  const int64_t out = call.out_size[d];
  if (call.adaptive) {
    const int64_t first = i * out / call.in_size[d] - 1,
                  last = ((i + 1) * out + call.in_size[d] - 1) / call.in_size[d];
    return {first < 0 ? 0 : first, last >= out ? out - 1 : last};
  }
  const int64_t from = i + call.padding[d], reach = call.kernel[d];
  const int64_t first = from < reach ? 0 : (from - reach) / call.stride[d] + 1, last = from / call.stride[d];
  return {first, last >= out ? out - 1 : last};
}

template <class T> void avg_pooled_backward(const PoolCall& call) {
  using C = compute_t<T>;
  for (int64_t n = first_index(); n < call.planes * volume(call.in_size); n += grid_step()) {
    const PlanePlace p = plane_place(call.in_size, n);
    const T* gradient = static_cast<const T*>(call.gradient) + p.plane * volume(call.out_size);
    const auto [first0, last0] = outputs_over(call, 0, p.at[0]);
    const auto [first1, last1] = outputs_over(call, 1, p.at[1]);
    const auto [first2, last2] = outputs_over(call, 2, p.at[2]);
    C sum = C(0);
    for (int64_t x = first0; x <= last0; ++x) {
      const Window w0 = window_at(call, 0, p.plane, x);
      if (p.at[0] < w0.begin || p.at[0] >= w0.end) continue;
      for (int64_t y = first1; y <= last1; ++y) {
        const Window w1 = window_at(call, 1, p.plane, y);
        if (p.at[1] < w1.begin || p.at[1] >= w1.end) continue;
        for (int64_t z = first2; z <= last2; ++z) {
          const Window w2 = window_at(call, 2, p.plane, z);
          if (p.at[2] < w2.begin || p.at[2] >= w2.end) continue;
          const C g = C(gradient[(x * call.out_size[1] + y) * call.out_size[2] + z]);
          sum = sum + g / window_divisor<C>(call, w0, w1, w2);
        }
      }
    }
    static_cast<T*>(call.out)[n] = cast<T>(sum);
  }
}

template <class T, bool kAccumulate> void plane_scattered(const PoolCall& call) {
  const int64_t from = volume(call.out_size), to = volume(call.in_size);
  for (int64_t n = first_index(); n < call.planes * from; n += grid_step()) {
    T* at = static_cast<T*>(call.out) + n / from * to + checked_index(call.indices[n], to, false);
    const T value = static_cast<const T*>(call.gradient)[n];
    if constexpr (kAccumulate) add_at_once(at, value);
    else *at = value;
  }
}
template <class V> void plane_gathered(const PoolCall& call) {
  const int64_t made = volume(call.out_size), from = volume(call.in_size);
  for (int64_t n = first_index(); n < call.planes * made; n += grid_step())
    static_cast<V*>(call.out)[n] =
        static_cast<const V*>(call.in)[n / made * from + checked_index(call.indices[n], from, false)];
}

}  // namespace mt::cuda
