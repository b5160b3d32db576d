// Rows of the normalisations in their compute type: loops for each machine level, and access to rows of other dtypes.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/convert.h"
#include "kernels/cpu_features.h"
#include "kernels/types.h"

namespace mt::kernels {

// Sum of term(i) for i < n. Spans are added up in independent lanes of C, their sums in double.
template <class C, class Term>
[[gnu::always_inline]] inline double sum_of(int64_t n, Term term) {
  constexpr int kLanes = 256 / sizeof(C);
  constexpr int64_t kSpan = 4096;
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kSpan) {
    const int64_t end = std::min(begin + kSpan, n);
    int64_t i = begin;
    if (end - begin >= kLanes) {
      C lanes[kLanes] = {};
      for (; i + kLanes <= end; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) lanes[l] += term(i + l);
      }
      for (int width = kLanes / 2; width > 0; width /= 2) {
        for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
      }
      total += double(lanes[0]);
    }
    C rest = 0;
    for (; i < end; ++i) rest += term(i);
    total += double(rest);
  }
  return total;
}

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

// Runs of a dense view as C: the memory itself, or a converted copy in the caller's buffer.
template <class C>
struct RowReader {
  const char* data;
  int64_t item;
  Converter load;
  bool direct;
  explicit RowReader(const View& v)
      : data(v.as<char>()),
        item(int64_t(itemsize(v.dtype))),
        load(converter(v.dtype, dtype_of<C>)),
        direct(v.dtype == dtype_of<C>) {}
  const C* at(int64_t offset, int64_t n, C* buffer) const {
    const char* start = data + offset * item;
    if (direct) return reinterpret_cast<const C*>(start);
    load(start, item, reinterpret_cast<char*>(buffer), sizeof(C), n);
    return buffer;
  }
};

template <class C>
struct RowWriter {
  char* data;
  int64_t item;
  Converter store;
  bool direct;
  explicit RowWriter(const View& v)
      : data(v.as<char>()),
        item(int64_t(itemsize(v.dtype))),
        store(converter(dtype_of<C>, v.dtype)),
        direct(v.dtype == dtype_of<C>) {}
  C* at(int64_t offset, C* buffer) const {
    return direct ? reinterpret_cast<C*>(data + offset * item) : buffer;
  }
  void done(int64_t offset, int64_t n, const C* buffer) const {
    if (!direct) store(reinterpret_cast<const char*>(buffer), sizeof(C), data + offset * item, item, n);
  }
  void put(int64_t offset, double value) const {
    const C one = C(value);
    store(reinterpret_cast<const char*>(&one), sizeof(C), data + offset * item, item, 1);
  }
};

// A whole parameter as C; null stays null.
template <class C>
struct WholeParameter {
  std::vector<C> own;
  const C* data = nullptr;
  WholeParameter(const View* view, int64_t n) {
    if (!view) return;
    const RowReader<C> reader(*view);
    if (!reader.direct) own.resize(size_t(n));
    data = reader.at(0, n, own.data());
  }
};

// Calls f with float or double, by the dtype of the input.
template <class F>
void with_compute_type(DType dtype, const char* name, F&& f) {
  if (!contains(domains::floating, dtype)) fail_unsupported(name, dtype);
  if (dtype == DType::float64) f(type_tag<double>{});
  else f(type_tag<float>{});
}

}  // namespace mt::kernels
