// Packs of numbers, for instructions that the compiler does not find in a loop: the larger and the smaller of two, where
// NaN wins, are one instruction each of aarch64, and four or more of what comparisons and selections become. The other
// processors have no such instruction, and their loops are left to the compiler.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace mt::kernels {

#if defined(__aarch64__)

inline constexpr bool kHasPacks = true;

template <class T> struct Pack;

#define MT_PACK(T, TYPE, COUNT, SUFFIX)                                                                      \
  template <> struct Pack<T> {                                                                               \
    static constexpr int64_t count = COUNT;                                                                  \
    TYPE v;                                                                                                  \
    static Pack load(const T* from) { return {vld1q_##SUFFIX(from)}; }                                       \
    static Pack of(T x) { return {vdupq_n_##SUFFIX(x)}; }                                                    \
    void store(T* to) const { vst1q_##SUFFIX(to, v); }                                                       \
    T largest() const { return vmaxvq_##SUFFIX(v); }                                                         \
    T smallest() const { return vminvq_##SUFFIX(v); }                                                        \
  };                                                                                                         \
  namespace math {                                                                                           \
  [[gnu::always_inline]] inline Pack<T> maximum(Pack<T> a, Pack<T> b) { return {vmaxq_##SUFFIX(a.v, b.v)}; } \
  [[gnu::always_inline]] inline Pack<T> minimum(Pack<T> a, Pack<T> b) { return {vminq_##SUFFIX(a.v, b.v)}; } \
  }
MT_PACK(float, float32x4_t, 4, f32)
MT_PACK(double, float64x2_t, 2, f64)
#undef MT_PACK

#else

inline constexpr bool kHasPacks = false;

#endif

template <class T>
inline constexpr bool kPacked = kHasPacks && (std::is_same_v<T, float> || std::is_same_v<T, double>);

#if defined(__aarch64__)

// The largest (or smallest) of n > 0 elements and `found`. An element may be taken twice, so the last ones need no loop
// of their own.
template <bool kLargest, class T>
[[gnu::always_inline]] inline T extreme_of_row(const T* x, int64_t n, T found) {
  using P = Pack<T>;
  constexpr int64_t one = P::count, four = 4 * one;
  const auto better = [](auto a, auto b) { return kLargest ? math::maximum(a, b) : math::minimum(a, b); };
  if (n < one) {
    for (int64_t i = 0; i < n; ++i) found = better(P::of(found), P::of(x[i])).largest();
    return found;
  }
  P best = better(P::of(found), P::load(x + n - one));
  int64_t i = 0;
  if (n >= four) {
    P b0 = best, b1 = P::load(x + one), b2 = P::load(x + 2 * one), b3 = P::load(x + 3 * one);
    for (; i + four <= n; i += four) {
      b0 = better(b0, P::load(x + i));
      b1 = better(b1, P::load(x + i + one));
      b2 = better(b2, P::load(x + i + 2 * one));
      b3 = better(b3, P::load(x + i + 3 * one));
    }
    best = better(better(b0, b1), better(b2, b3));
  }
  for (; i + one <= n; i += one) best = better(best, P::load(x + i));
  return kLargest ? best.largest() : best.smallest();
}

// out[i] = f(x[i]) in packs, the last ones by way of a pack of their own, so that an element's result does not depend on
// its place.
template <class T, class F>
[[gnu::always_inline]] inline void for_each_pack(T* out, const T* x, int64_t n, F f) {
  using P = Pack<T>;
  constexpr int64_t one = P::count;
  int64_t i = 0;
  for (; i + 4 * one <= n; i += 4 * one) {
    const P a = P::load(x + i), b = P::load(x + i + one), c = P::load(x + i + 2 * one),
            d = P::load(x + i + 3 * one);
    f(a).store(out + i);
    f(b).store(out + i + one);
    f(c).store(out + i + 2 * one);
    f(d).store(out + i + 3 * one);
  }
  for (; i + one <= n; i += one) f(P::load(x + i)).store(out + i);
  if (i == n) return;
  T rest[one] = {};
  for (int64_t j = i; j < n; ++j) rest[j - i] = x[j];
  f(P::load(rest)).store(rest);
  for (int64_t j = i; j < n; ++j) out[j] = rest[j - i];
}

#endif

}  // namespace mt::kernels
