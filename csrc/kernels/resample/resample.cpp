#include "kernels/resample/resample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/convert.h"
#include "kernels/common/iterate.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/planes.h"
#include "kernels/common/rows.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

template <class T>
using wide_t = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, double, float>;

// One dimension's taps as loops want them: outputs from `begin` to `end` read `width` inputs each, those beside them fewer.
template <class C>
struct Line {
  int64_t in, out, width, begin = 0, end = 0;
  bool mixed = false;  // few outputs read as many: the others leave out some of what they read
  const int64_t *first, *count;
  std::vector<C> weights;

  explicit Line(const Taps& taps)
      : in(taps.in),
        out(taps.out),
        width(taps.width),
        first(taps.first.data()),
        count(taps.count.data()),
        weights(taps.weights.begin(), taps.weights.end()) {
    const int64_t middle = out / 2;
    if (out > 0 && count[middle] == width) {
      begin = middle, end = middle + 1;
      while (begin > 0 && count[begin - 1] == width) --begin;
      while (end < out && count[end] == width) ++end;
    }
    mixed = 2 * (end - begin) < out;
    for (int64_t o = 0; o < out && mixed; ++o) mixed = first[o] + width <= in;
  }
};

// One dimension of a dense block [outer, line.in, inner] -> [outer, line.out, inner].
struct Pass {
  template <class C>
  [[gnu::always_inline]] static inline C one(const C* in, const C* weights, int64_t count) {
    if (count >= 16) return C(sum_of<C>(count, [=](int64_t k) { return weights[k] * in[k]; }));
    C sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += weights[k] * in[k];
    return sum;
  }
  // Outputs beside each other that read as many inputs: the loop over them becomes vectors.
  template <int64_t kWidth, class C>
  [[gnu::always_inline]] static inline void even(const C* in, C* out, const int64_t* first, const C* weights,
                                                 int64_t begin, int64_t end) {
#pragma GCC ivdep
    for (int64_t o = begin; o < end; ++o) {
      const C* run = in + first[o];
      C sum = weights[o * kWidth] * run[0];
      for (int64_t k = 1; k < kWidth; ++k) sum += weights[o * kWidth + k] * run[k];
      out[o] = sum;
    }
  }
  template <int64_t kWidth, class C>
  [[gnu::always_inline]] static inline void uneven(const C* in, C* out, const Line<C>& line) {
    const int64_t *first = line.first, *count = line.count;
    const C* weights = line.weights.data();
#pragma GCC ivdep
    for (int64_t o = 0; o < line.out; ++o) {
      const C* run = in + first[o];
      C sum = C(0);
      for (int64_t k = 0; k < kWidth; ++k) {
        const C term = weights[o * kWidth + k] * run[k];
        sum += k < count[o] ? term : C(0);
      }
      out[o] = sum;
    }
  }
  template <class C>
  [[gnu::always_inline]] static inline void along(const C* in, C* out, const Line<C>& line) {
    const C* weights = line.weights.data();
    if (line.mixed && line.width == 1) return uneven<1>(in, out, line);
    if (line.mixed && line.width == 2) return uneven<2>(in, out, line);
    if (line.mixed && line.width == 3) return uneven<3>(in, out, line);
    const auto rest = [&](int64_t begin, int64_t end) __attribute__((always_inline)) {
      for (int64_t o = begin; o < end; ++o)
        out[o] = one(in + line.first[o], weights + o * line.width, line.count[o]);
    };
    rest(0, line.begin);
    if (line.width == 1) even<1>(in, out, line.first, weights, line.begin, line.end);
    else if (line.width == 2) even<2>(in, out, line.first, weights, line.begin, line.end);
    else if (line.width == 3) even<3>(in, out, line.first, weights, line.begin, line.end);
    else if (line.width == 4) even<4>(in, out, line.first, weights, line.begin, line.end);
    else rest(line.begin, line.end);
    rest(line.end, line.out);
  }
  // Whole rows are added up, four at a time.
  template <class C>
  [[gnu::always_inline]] static inline void rows(const C* in, C* out, const C* w, int64_t count,
                                                 int64_t inner) {
    if (count == 0) std::fill_n(out, inner, C(0));
    for (int64_t k = 0; k < count; k += 4) {
      const C *a = in + k * inner, *b = a + inner, *c = b + inner, *d = c + inner;
      const int64_t left = count - k;
      const C p = w[k], q = left > 1 ? w[k + 1] : C(0), r = left > 2 ? w[k + 2] : C(0),
              s = left > 3 ? w[k + 3] : C(0);
      const bool begins = k == 0;
      const auto each = [&](auto f) __attribute__((always_inline)) {
        if (begins) {
#pragma GCC ivdep
          for (int64_t i = 0; i < inner; ++i) out[i] = f(i);
        } else {
#pragma GCC ivdep
          for (int64_t i = 0; i < inner; ++i) out[i] += f(i);
        }
      };
      if (left == 1) each([=](int64_t i) { return p * a[i]; });
      else if (left == 2) each([=](int64_t i) { return p * a[i] + q * b[i]; });
      else if (left == 3) each([=](int64_t i) { return p * a[i] + q * b[i] + r * c[i]; });
      else each([=](int64_t i) { return (p * a[i] + q * b[i]) + (r * c[i] + s * d[i]); });
    }
  }
  template <class C>
  [[gnu::always_inline]] static inline void run(const C* in, C* out, int64_t outer, int64_t inner,
                                                const Line<C>* line) {
    for (int64_t a = 0; a < outer; ++a, in += line->in * inner, out += line->out * inner) {
      if (inner == 1) {
        along(in, out, *line);
        continue;
      }
      for (int64_t o = 0; o < line->out; ++o)
        rows(in + line->first[o] * inner, out + o * inner, line->weights.data() + o * line->width,
             line->count[o], inner);
    }
  }
};

template <class T, class C>
T leave(C value, ToInteger to_integer) {
  if constexpr (std::is_integral_v<T>) {
    // Sums were weighted by 1/n, so an exact quotient may have landed just below the integer.
    if (to_integer == ToInteger::truncate) return T(value + std::copysign(C(1e-6), value));
    const C low = C(std::numeric_limits<T>::min()), high = C(std::numeric_limits<T>::max());
    const C whole = to_integer == ToInteger::round ? std::nearbyint(value) : std::floor(value + C(0.5));
    return T(std::clamp(whole, low, high));
  } else {
    return cast<T>(value);
  }
}

// Calls f(offset, stride, number of elements) for runs that are a plane in row-major order.
template <class F>
void for_each_run(const Planes& planes, bool dense, F&& f) {
  if (dense) return f(int64_t(0), int64_t(1), planes.numel);
  for (int64_t i = 0; i < planes.sizes[0]; ++i)
    for (int64_t j = 0; j < planes.sizes[1]; ++j)
      f(i * planes.strides[0] + j * planes.strides[1], planes.strides[2], planes.sizes[2]);
}

// Whether every output is one input: the nearest, which is copied as it is.
bool takes_one_each(const std::vector<Taps>& taps) {
  return std::ranges::all_of(taps, [](const Taps& t) {
    return t.width == 1 && std::ranges::all_of(t.count, [](int64_t n) { return n == 1; }) &&
           std::ranges::all_of(t.weights, [](double w) { return w == 1.0; });
  });
}

template <class T>
void take_one_each(const View& in, const View& out, const std::vector<Taps>& taps) {
  const int spatial = int(taps.size());
  const Planes from(in, spatial), to(out, spatial);
  const auto place = [&](size_t d, int64_t o) {  // of output o, in the input
    const size_t front = kMaxSpatial - taps.size();
    return d < front ? o : taps[d - front].first[size_t(o)];
  };
  std::vector<int64_t> steps(size_t(to.sizes[2]));
  for (int64_t o = 0; o < to.sizes[2]; ++o) steps[size_t(o)] = place(2, o) * from.strides[2];
  parallel_for(0, to.count, std::max<int64_t>(1, kGrain / to.numel), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const T* all = from.at<const T>(plane);
      T* made = to.at<T>(plane);
      for (int64_t i = 0; i < to.sizes[0]; ++i)
        for (int64_t j = 0; j < to.sizes[1]; ++j) {
          const T* source = all + place(0, i) * from.strides[0] + place(1, j) * from.strides[1];
          T* target = made + i * to.strides[0] + j * to.strides[1];
          for (int64_t k = 0; k < to.sizes[2]; ++k) target[k * to.strides[2]] = source[steps[size_t(k)]];
        }
    }
  });
}

template <class T>
void run(const View& in, const View& out, const std::vector<Taps>& taps, ToInteger to_integer) {
  using C = wide_t<T>;
  if (!std::is_same_v<T, C> && takes_one_each(taps)) return take_one_each<T>(in, out, taps);
  const int spatial = int(taps.size());
  const Planes from(in, spatial), to(out, spatial);

  // Every step works on [outer, one dimension, inner]; the last dimension goes first.
  struct Step {
    int64_t outer, inner;
    Line<C> line;
  };
  std::vector<Step> steps;
  std::vector<int64_t> sizes(in.sizes + in.ndim - spatial, in.sizes + in.ndim);
  int64_t largest = from.numel, work = from.numel;
  for (size_t d = taps.size(); d-- > 0;) {
    if (taps[d].identity()) continue;
    int64_t outer = 1, inner = 1;
    for (size_t i = 0; i < d; ++i) outer *= sizes[i];
    for (size_t i = d + 1; i < taps.size(); ++i) inner *= sizes[i];
    sizes[d] = taps[d].out;
    steps.push_back({outer, inner, Line<C>(taps[d])});
    largest = std::max(largest, outer * sizes[d] * inner);
    work += outer * taps[d].out * inner * taps[d].width;
  }
  const bool dense_from = from.is_dense(), dense_to = to.is_dense();
  const bool read_there = std::is_same_v<T, C> && dense_from;
  const bool written_there = std::is_same_v<T, C> && dense_to && !steps.empty();
  const Converter load = converter(dtype_of<T>, dtype_of<C>), store = converter(dtype_of<C>, dtype_of<T>);
  constexpr int64_t item = sizeof(T), wide = sizeof(C);
  parallel_for(0, to.count, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)),
               [&](int64_t begin, int64_t end) {
                 std::vector<C> first(static_cast<size_t>(largest)), second(static_cast<size_t>(largest));
                 for (int64_t plane = begin; plane < end; ++plane) {
                   const T* source = from.at<const T>(plane);
                   T* target = to.at<T>(plane);
                   C *free = first.data(), *other = second.data();
                   const C* current = reinterpret_cast<const C*>(source);
                   if (!read_there) {
                     char* filled = reinterpret_cast<char*>(free);
                     for_each_run(from, dense_from, [&](int64_t at, int64_t stride, int64_t n) {
                       load(reinterpret_cast<const char*>(source + at), stride * item, filled, wide, n);
                       filled += n * wide;
                     });
                     current = free;
                     std::swap(free, other);
                   }
                   for (size_t s = 0; s < steps.size(); ++s) {
                     C* made = written_there && s + 1 == steps.size() ? reinterpret_cast<C*>(target) : free;
                     at_level<Pass>(current, made, steps[s].outer, steps[s].inner,
                                    static_cast<const Line<C>*>(&steps[s].line));
                     if (to_integer == ToInteger::round_each) {
                       const int64_t n = steps[s].outer * steps[s].line.out * steps[s].inner;
                       for (int64_t i = 0; i < n; ++i) made[i] = C(leave<T>(made[i], to_integer));
                     }
                     current = made;
                     std::swap(free, other);
                   }
                   if (written_there) continue;
                   for_each_run(to, dense_to, [&](int64_t at, int64_t stride, int64_t n) {
                     if constexpr (std::is_integral_v<T>) {
                       for (int64_t i = 0; i < n; ++i)
                         target[at + i * stride] = leave<T>(current[i], to_integer);
                     } else {
                       store(reinterpret_cast<const char*>(current), wide,
                             reinterpret_cast<char*>(target + at), stride * item, n);
                     }
                     current += n;
                   });
                 }
               });
}

// Pictures whose channels lie innermost have planes with a last dimension more, along which nothing happens.
bool channels_inside(const View& view, int spatial) {
  return view.ndim == spatial + 2 && spatial < kMaxSpatial && view.sizes[1] > 1 && view.strides[1] == 1;
}
struct ChannelsLast {
  int64_t sizes[kMaxSpatial + 1], strides[kMaxSpatial + 1];
  View view;
  explicit ChannelsLast(const View& v) : view{v.data, sizes, strides, v.ndim, v.dtype} {
    for (int d = 0; d < v.ndim; ++d) {
      const int from = d == 0 ? 0 : d + 1 < v.ndim ? d + 1 : 1;
      sizes[d] = v.sizes[from];
      strides[d] = v.strides[from];
    }
  }
};

void resample_all(const View& in, const View& out, const std::vector<Taps>& taps, ToInteger to_integer) {
  const auto each = [&](const View& from, const View& to, const std::vector<Taps>& own) {
    dispatch<domains::real>(from.dtype, "resample",
                            [&](auto tag) { run<typename decltype(tag)::type>(from, to, own, to_integer); });
  };
  const int spatial = int(taps.size());
  if (!channels_inside(in, spatial) || !channels_inside(out, spatial)) return each(in, out, taps);
  std::vector<Taps> own = taps;
  Taps& channels = own.emplace_back(in.sizes[1], in.sizes[1], 1);
  for (int64_t c = 0; c < in.sizes[1]; ++c)
    channels.first[size_t(c)] = c, channels.count[size_t(c)] = 1, channels.weights[size_t(c)] = 1;
  each(ChannelsLast(in).view, ChannelsLast(out).view, own);
}

}  // namespace

void resample(const View& in, const View& out, const std::vector<Taps>& taps, ToInteger to_integer) {
  if (out.numel() == 0) return;
  resample_all(in, out, taps, to_integer);
}

void resample_transposed(const View& in, const View& out, const std::vector<Taps>& taps) {
  if (out.numel() == 0) return;
  std::vector<Taps> turned;
  for (const Taps& t : taps) turned.push_back(t.transposed());
  resample_all(in, out, turned, ToInteger::round);
}

}  // namespace mt::kernels
