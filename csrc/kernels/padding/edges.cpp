#include "kernels/padding/edges.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "kernels/common/arithmetic.h"
#include "kernels/common/convert.h"
#include "kernels/common/iterate.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

constexpr int64_t kNowhere = -1;  // a place that is padding and nothing else

// One dimension of a tensor and of the padded one. Places [first, last) are the original's, in order; `from` says for each
// place which of the original's it is, and is empty where both have the same.
struct Axis {
  int64_t size, padded;
  int64_t stride, padded_stride;  // in elements
  int64_t before = 0, first = 0, last = 0;
  std::vector<int64_t> from;

  bool same() const { return from.empty(); }
  int64_t source(int64_t place) const { return same() ? place : from[size_t(place)]; }
};

template <class From>
Axis axis_of(const View& in, const View& out, int d, int64_t before, From&& from) {
  Axis axis{in.sizes[d], out.sizes[d], in.strides[d], out.strides[d], before, 0, out.sizes[d], {}};
  if (before == 0 && axis.size == axis.padded) return axis;
  axis.first = std::clamp<int64_t>(before, 0, axis.padded);
  axis.last = std::clamp<int64_t>(before + axis.size, axis.first, axis.padded);
  axis.from.resize(size_t(axis.padded));
  for (int64_t p = 0; p < axis.padded; ++p) {
    const int64_t i = p - before;
    axis.from[size_t(p)] = i >= 0 && i < axis.size ? i : from(i, axis.size);
  }
  return axis;
}

// Note [Padded rows]
// Whatever the edges hold, a row of the padded tensor comes from one row of the original, or from none, and a gradient's
// row from a few of the padded one's. Threads share out the rows and parts of long ones. The innermost dimensions that
// are not padded and dense in both make a unit, which moves as a whole: pixels of a picture whose channels come last.
struct PaddedRows {
  std::vector<Axis> outer;
  Axis row{1, 1, 0, 0, 0, 0, 1, {}};
  int64_t unit = 1;  // elements

  template <class From>
  PaddedRows(const View& in, const View& out, std::span<const int64_t> pad, From&& from) {
    MT_CHECK(in.dtype == out.dtype && in.ndim == out.ndim, "padding: the result must be like the input");
    for (int d = 0; d < in.ndim; ++d) {
      const size_t i = size_t(in.ndim - 1 - d);
      Axis axis = axis_of(in, out, d, 2 * i < pad.size() ? pad[2 * i] : 0, from);
      if (axis.same() && axis.size == 1) continue;
      outer.push_back(std::move(axis));
    }
    std::stable_sort(outer.begin(), outer.end(), [](const Axis& a, const Axis& b) {
      return std::llabs(a.padded_stride) > std::llabs(b.padded_stride);
    });
    merge();
    constexpr int64_t kUnit = 256;  // longer ones are rows, which threads can share
    if (!outer.empty() && outer.back().same() && outer.back().stride == 1 &&
        outer.back().padded_stride == 1 && outer.back().size <= kUnit) {
      unit = outer.back().size;
      outer.pop_back();
    }
    if (outer.empty()) return;
    row = std::move(outer.back());
    outer.pop_back();
  }

 private:
  void merge() {
    std::vector<Axis> merged;
    for (Axis& axis : outer) {
      Axis* above = merged.empty() ? nullptr : &merged.back();
      if (above && above->same() && axis.same() && above->stride == axis.stride * axis.size &&
          above->padded_stride == axis.padded_stride * axis.padded) {
        above->size *= axis.size, above->padded *= axis.padded, above->last *= axis.padded;
        above->stride = axis.stride, above->padded_stride = axis.padded_stride;
      } else {
        merged.push_back(std::move(axis));
      }
    }
    outer = std::move(merged);
  }
};

// Calls f(places along the outer axes, begin, end) for parts of rows that together have all of `length` places of each row;
// `sizes` are the outer axes'.
template <class F>
void for_each_part(const std::vector<int64_t>& sizes, int64_t length, int64_t unit, const F& f) {
  int64_t total = length;
  for (const int64_t size : sizes) total *= size;
  parallel_for(0, total, std::max<int64_t>(1, kGrain / unit), [&](int64_t begin, int64_t end) {
    std::vector<int64_t> at(sizes.size());
    int64_t rest = begin / length, from = begin % length;
    for (size_t a = sizes.size(); a-- > 0; rest /= sizes[a]) at[a] = rest % sizes[a];
    while (begin < end) {
      const int64_t n = std::min(length - from, end - begin);
      f(at.data(), from, from + n);
      begin += n, from = 0;
      for (size_t a = sizes.size(); a-- > 0;) {
        if (++at[a] < sizes[a]) break;
        at[a] = 0;
      }
    }
  });
}

std::vector<int64_t> outer_sizes(const PaddedRows& rows, int64_t Axis::* size) {
  std::vector<int64_t> sizes;
  for (const Axis& axis : rows.outer) sizes.push_back(axis.*size);
  return sizes;
}

// Places [begin, end) of a row of the padded tensor; without an `in` all are padding.
template <class U>
void pad_part(const PaddedRows& rows, const U* in, U* out, int64_t begin, int64_t end, const U& value) {
  const Axis& row = rows.row;
  const int64_t unit = rows.unit, step = row.padded_stride;
  const auto fill_units = [&](int64_t from, int64_t to) {
    if (step == unit) std::fill_n(out + from * step, (to - from) * unit, value);
    else
      for (int64_t p = from; p < to; ++p) std::fill_n(out + p * step, unit, value);
  };
  if (!in) return fill_units(begin, end);
  const int64_t *sources = row.from.data(), stride = row.stride;
  const auto edge = [&](int64_t from, int64_t to) {
    if (unit == 1) {
      for (int64_t p = from; p < to; ++p)
        out[p * step] = sources[p] == kNowhere ? value : in[sources[p] * stride];
      return;
    }
    for (int64_t p = from; p < to; ++p) {
      if (sources[p] == kNowhere) fill_units(p, p + 1);
      else std::memcpy(out + p * step, in + sources[p] * stride, size_t(unit) * sizeof(U));
    }
  };
  const int64_t first = std::clamp(row.first, begin, end), last = std::clamp(row.last, first, end);
  edge(begin, first);
  const U* from = in + (first - row.before) * stride;
  U* to = out + first * step;
  if (stride == unit && step == unit) {
    std::memcpy(to, from, size_t((last - first) * unit) * sizeof(U));
  } else if (unit == 1) {
    for (int64_t p = 0; p < last - first; ++p) to[p * step] = from[p * stride];
  } else {
    for (int64_t p = 0; p < last - first; ++p)
      std::memcpy(to + p * step, from + p * stride, size_t(unit) * sizeof(U));
  }
  edge(last, end);
}

template <class U>
void pad_rows(const PaddedRows& rows, const View& in, const View& out, const void* fill) {
  const U value = *static_cast<const U*>(fill);
  for_each_part(outer_sizes(rows, &Axis::padded), rows.row.padded, rows.unit,
                [&](const int64_t* at, int64_t begin, int64_t end) {
                  const U* from = in.as<U>();
                  U* to = out.as<U>();
                  for (size_t a = 0; a < rows.outer.size(); ++a) {
                    const Axis& axis = rows.outer[a];
                    const int64_t source = axis.source(at[a]);
                    to += at[a] * axis.padded_stride;
                    if (source == kNowhere) from = nullptr;
                    else if (from) from += source * axis.stride;
                  }
                  pad_part(rows, from, to, begin, end, value);
                });
}

void pad_rows(const PaddedRows& rows, const View& in, const View& out, const void* fill) {
  switch (itemsize(in.dtype)) {
    case 1: return pad_rows<uint8_t>(rows, in, out, fill);
    case 2: return pad_rows<uint16_t>(rows, in, out, fill);
    case 4: return pad_rows<uint32_t>(rows, in, out, fill);
    case 8: return pad_rows<uint64_t>(rows, in, out, fill);
    default: return pad_rows<complex128>(rows, in, out, fill);
  }
}

// Where the edges of an axis come from.
auto places_of(Edge mode) {
  return [mode](int64_t i, int64_t size) {
    switch (mode) {
      case Edge::reflect: return i < 0 ? -i : 2 * size - 2 - i;
      case Edge::replicate: return i < 0 ? 0 : size - 1;
      default: return i < 0 ? i + size : i - size;
    }
  };
}

// For each element of an axis the places that are made of it, ascending.
struct Copies {
  std::vector<int64_t> starts, places;
  explicit Copies(const Axis& axis) {
    if (axis.same()) return;
    starts.assign(size_t(axis.size) + 1, 0);
    for (const int64_t source : axis.from) ++starts[size_t(source) + 1];
    for (size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    std::vector<int64_t> next(starts.begin(), starts.end() - 1);
    places.resize(axis.from.size());
    for (size_t p = 0; p < axis.from.size(); ++p) places[size_t(next[size_t(axis.from[p])]++)] = int64_t(p);
  }
};

template <class T>
struct AddDense {
  [[gnu::always_inline]] static inline void run(compute_t<T>* sums, const T* values, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) sums[i] = math::add(sums[i], compute_t<T>(values[i]));
  }
};

template <class T>
struct StoreDense {
  [[gnu::always_inline]] static inline void run(T* to, const compute_t<T>* sums, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = cast<T>(sums[i]);
  }
};

// Adds to `sums` what a row of the padded gradient has for elements [begin, end) of the original's.
template <class T>
void add_part(const PaddedRows& rows, const T* grad, int64_t begin, int64_t end, compute_t<T>* sums) {
  const Axis& row = rows.row;
  const int64_t unit = rows.unit, step = row.padded_stride;
  const auto add_unit = [&](int64_t place, int64_t element) {
    compute_t<T>* to = sums + (element - begin) * unit;
    if (unit > 1)
      return at_level<AddDense<T>, compute_t<T>*, const T*, int64_t>(to, grad + place * step, unit);
    *to = math::add(*to, compute_t<T>(grad[place * step]));
  };
  const auto edge = [&](int64_t from, int64_t to) {
    for (int64_t p = from; p < to; ++p) {
      const int64_t element = row.source(p);
      if (element >= begin && element < end) add_unit(p, element);
    }
  };
  edge(0, row.first);
  const int64_t first = std::max(begin, row.first - row.before), last = std::min(end, row.last - row.before);
  if (first < last && step == unit)
    at_level<AddDense<T>, compute_t<T>*, const T*, int64_t>(
        sums + (first - begin) * unit, grad + (first + row.before) * step, (last - first) * unit);
  else
    for (int64_t i = first; i < last; ++i) add_unit(i + row.before, i);
  edge(row.last, row.padded);
}

template <class T>
void add_rows(const PaddedRows& rows, const View& grad, const View& grad_in) {
  using C = compute_t<T>;
  const Axis& row = rows.row;
  const std::vector<Copies> copies(rows.outer.begin(), rows.outer.end());
  const int64_t together = std::max<int64_t>(1, 1024 / rows.unit);  // elements of a row
  for_each_part(outer_sizes(rows, &Axis::size), row.size, rows.unit,
                [&](const int64_t* at, int64_t begin, int64_t end) {
                  Scratch<C> sums(std::min(together, end - begin) * rows.unit);
                  for (; begin < end; begin += together) {
                    const int64_t last = std::min(end, begin + together), n = (last - begin) * rows.unit;
                    std::fill_n(sums.data(), n, C(0));
                    const auto add = [&](const auto& self, size_t a, const T* from) -> void {
                      if (a == rows.outer.size()) return add_part<T>(rows, from, begin, last, sums.data());
                      const Axis& axis = rows.outer[a];
                      if (axis.same()) return self(self, a + 1, from + at[a] * axis.padded_stride);
                      for (int64_t i = copies[a].starts[size_t(at[a])];
                           i < copies[a].starts[size_t(at[a]) + 1]; ++i)
                        self(self, a + 1, from + copies[a].places[size_t(i)] * axis.padded_stride);
                    };
                    add(add, 0, grad.as<T>());
                    T* to = grad_in.as<T>() + begin * row.stride;
                    for (size_t a = 0; a < rows.outer.size(); ++a) to += at[a] * rows.outer[a].stride;
                    // Units that follow one another are one.
                    const int64_t length = row.stride == rows.unit ? n : rows.unit;
                    for (int64_t i = 0; i < n; i += length, to += row.stride)
                      at_level<StoreDense<T>, T*, const C*, int64_t>(to, sums.data() + i, length);
                  }
                });
}

}  // namespace

void constant_pad(const View& in, std::span<const int64_t> pad, const Scalar& value, const View& out) {
  if (out.numel() == 0) return;
  alignas(16) char fill[16];
  store_scalar(value, out.dtype, fill);
  pad_rows(PaddedRows(in, out, pad, [](int64_t, int64_t) { return kNowhere; }), in, out, fill);
}

void extend_edges(const View& in, std::span<const int64_t> pad, Edge mode, const View& out) {
  if (out.numel() == 0) return;
  alignas(16) const char fill[16] = {};
  pad_rows(PaddedRows(in, out, pad, places_of(mode)), in, out, fill);
}

void extend_edges_backward(const View& grad, std::span<const int64_t> pad, Edge mode, const View& grad_in) {
  if (grad_in.numel() == 0) return;
  const PaddedRows rows(grad_in, grad, pad, places_of(mode));
  dispatch<domains::every>(grad.dtype, "pad", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) fail_unsupported("pad", grad.dtype);
    else add_rows<T>(rows, grad, grad_in);
  });
}

}  // namespace mt::kernels
