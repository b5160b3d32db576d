// Rows of the normalisations in their compute type: loops for each machine level.
#pragma once

#include "kernels/common/cpu_features.h"
#include "kernels/common/rows.h"

namespace mt::kernels {

template <class C>
struct NormRows {
#define MT_INLINE [[gnu::always_inline]] static inline
  // Two passes over a row that stays in the cache; squares are divided by the count.
  MT_INLINE void moments_body(const C* x, int64_t n, double* mean, double* variance) {
    *mean = sum_of<C>(n, [=](int64_t i) { return x[i]; }) / double(n);
    const C center = C(*mean);
    *variance = sum_of<C>(n, [=](int64_t i) { return (x[i] - center) * (x[i] - center); }) / double(n);
  }
  MT_INLINE void standardize_body(const C* x, const C* weight, const C* bias, C* y, int64_t n, C center,
                                  C scale) {
    if (weight && bias) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - center) * scale * weight[i] + bias[i];
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - center) * scale;
      if (weight)
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) y[i] *= weight[i];
      if (bias)
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) y[i] += bias[i];
    }
  }
  // `weighted` receives grad * weight; y and the two sums may be null.
  MT_INLINE void backward_body(const C* g, const C* x, const C* weight, C* weighted, C* y, C* to_weight,
                               C* to_bias, int64_t n, C center, C scale) {
    if (to_weight)
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to_weight[i] += g[i] * ((x[i] - center) * scale);
    if (to_bias)
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to_bias[i] += g[i];
    if (!y) return;
    const C* gw = g;
    if (weight) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) weighted[i] = g[i] * weight[i];
      gw = weighted;
    }
    const C total = C(sum_of<C>(n, [=](int64_t i) { return gw[i]; }) / double(n));
    const C slope = C(sum_of<C>(n, [=](int64_t i) { return gw[i] * ((x[i] - center) * scale); }) / double(n));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = scale * (gw[i] - total - (x[i] - center) * scale * slope);
  }
  MT_INLINE void affine_body(const C* x, C* y, int64_t n, C scale, C shift) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
  }
  MT_INLINE void products_body(const C* g, const C* x, int64_t n, C center, double* sum, double* product) {
    *sum += sum_of<C>(n, [=](int64_t i) { return g[i]; });
    *product += sum_of<C>(n, [=](int64_t i) { return g[i] * (x[i] - center); });
  }
  MT_INLINE void blend_body(const C* g, const C* x, C* y, int64_t n, C a, C b, C c) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = g[i] * a + x[i] * b + c;
  }
#undef MT_INLINE

// name[cpu_level] is the loop as compiled for the machine.
#define MT_LEVELS(NAME, PARAMETERS, ARGUMENTS)                            \
  static void NAME##_base PARAMETERS { NAME##_body ARGUMENTS; }           \
  MT_WIDE static void NAME##_wide PARAMETERS { NAME##_body ARGUMENTS; }   \
  MT_WIDEST static void NAME##_most PARAMETERS { NAME##_body ARGUMENTS; } \
  static constexpr decltype(&NAME##_base) NAME[kLevels] = {NAME##_base, NAME##_wide, NAME##_most};
  MT_LEVELS(moments, (const C* x, int64_t n, double* mean, double* variance), (x, n, mean, variance))
  MT_LEVELS(standardize, (const C* x, const C* w, const C* b, C* y, int64_t n, C center, C scale),
            (x, w, b, y, n, center, scale))
  MT_LEVELS(backward,
            (const C* g, const C* x, const C* w, C* gw, C* y, C* dw, C* db, int64_t n, C center, C scale),
            (g, x, w, gw, y, dw, db, n, center, scale))
  MT_LEVELS(affine, (const C* x, C* y, int64_t n, C scale, C shift), (x, y, n, scale, shift))
  MT_LEVELS(products, (const C* g, const C* x, int64_t n, C center, double* sum, double* product),
            (g, x, n, center, sum, product))
  MT_LEVELS(blend, (const C* g, const C* x, C* y, int64_t n, C a, C b, C c), (g, x, y, n, a, b, c))
#undef MT_LEVELS
};

}  // namespace mt::kernels
