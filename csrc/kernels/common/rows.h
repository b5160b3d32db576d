// Rows of a dense view in the type that arithmetic happens in: reading, writing and adding up.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/common/convert.h"
#include "kernels/common/types.h"

namespace mt::kernels {

// The sum of lanes, in pairs.
template <int kCount, class C>
[[gnu::always_inline]] inline C sum_of_lanes(C* lanes) {
  if constexpr (kCount == 1) {
    return lanes[0];
  } else {
    for (int l = 0; l < kCount / 2; ++l) lanes[l] += lanes[l + kCount / 2];
    return sum_of_lanes<kCount / 2>(lanes);
  }
}
// The sum of term(i) for whole groups of lanes from i on, which is moved behind them.
template <int kLanes, class C, class Term>
[[gnu::always_inline]] inline C sum_in_lanes(int64_t& i, int64_t end, Term term) {
  C lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = term(i + l);
  for (i += kLanes; i + kLanes <= end; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += term(i + l);
  }
  return sum_of_lanes<kLanes>(lanes);
}

// Sum of term(i) for i < n. Spans are added up in independent lanes of C, their sums in double. Adding many lanes up
// takes as long as a short row, which gets fewer: with the short vectors of NEON a row is short up to eight times as many
// elements as there are lanes.
template <class C, class Term>
[[gnu::always_inline]] inline double sum_of(int64_t n, Term term) {
  constexpr int kLanes = 256 / sizeof(C);
#if defined(__aarch64__)
  constexpr int kFewer = 64 / sizeof(C), kWorthwhile = 8 * kLanes;
#else
  constexpr int kFewer = 8, kWorthwhile = kLanes;
#endif
  constexpr int64_t kSpan = 4096;
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kSpan) {
    const int64_t end = std::min(begin + kSpan, n);
    int64_t i = begin;
    if (end - begin >= kWorthwhile) total += double(sum_in_lanes<kLanes, C>(i, end, term));
    if (end - i >= kFewer) total += double(sum_in_lanes<kFewer, C>(i, end, term));
    C rest = 0;
    for (; i < end; ++i) rest += term(i);
    total += double(rest);
  }
  return total;
}

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
