#include <algorithm>
#include <limits>

#include "kernels/common/arithmetic.h"
#include "kernels/common/convert.h"
#include "kernels/common/iterate.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/reduce/reduce.h"

namespace mt::kernels {
namespace {

// Whether x takes the place of the best so far. NaN beats every number, the first NaN stays.
template <class T, bool kMax>
[[gnu::always_inline]] inline bool beats(T x, T best) {
  if (kMax ? x > best : x < best) return !math::is_nan(best);
  return math::is_nan(x) && !math::is_nan(best);
}

// Blocks of a line, in the type of comparisons.
constexpr int64_t kBlock = 512;
constexpr int64_t kSide = 64;  // neighbouring lines taken together, see Note [Lines side by side]

template <class C, bool kMax>
[[gnu::always_inline]] inline C better(C a, C b) {
  return kMax ? math::maximum(a, b) : math::minimum(a, b);
}

// As wide as an element, for counting beside it.
template <class C> using BitsOf = typename unsigned_of<sizeof(C)>::type;

// The best of n > 0 elements, NaN if there is one, in as many lanes as hide the latency of a comparison.
template <bool kMax>
struct FindBest {
  // On x86 NaN is looked for beside, see Note [The larger of two, and NaN] in reduce_impl.h.
  template <class C>
  static constexpr bool kApart = std::is_floating_point_v<C> && kHasLevels;
  template <class C>
  [[gnu::always_inline]] static inline C taken(C a, C b) {
    if constexpr (kApart<C>) return (kMax ? a > b : a < b) ? a : b;
    else return better<C, kMax>(a, b);
  }
  template <class C>
  [[gnu::always_inline]] static inline BitsOf<C> is_missing(C x) {
    return kApart<C> ? BitsOf<C>(x != x) : BitsOf<C>(0);
  }
  template <class C>
  [[gnu::always_inline]] static inline void run(const C* x, int64_t n, C* best) {
    constexpr int64_t lanes = sizeof(C) == 1 ? 64 : 128 / int64_t(sizeof(C));
    C found = x[0];
    BitsOf<C> missing = 0;
    int64_t i = 0;
    if (n >= lanes) {
      C tops[lanes];
      BitsOf<C> nan[lanes];
      for (int64_t l = 0; l < lanes; ++l) tops[l] = x[l], nan[l] = is_missing(x[l]);
      for (i = lanes; i + lanes <= n; i += lanes)
        for (int64_t l = 0; l < lanes; ++l)
          tops[l] = taken(x[i + l], tops[l]), nan[l] |= is_missing(x[i + l]);
      for (int64_t width = lanes / 2; width > 0; width /= 2)
        for (int64_t l = 0; l < width; ++l)
          tops[l] = taken(tops[l + width], tops[l]), nan[l] |= nan[l + width];
      found = tops[0], missing = nan[0];
    }
    for (; i < n; ++i) found = taken(x[i], found), missing |= is_missing(x[i]);
    if constexpr (kApart<C>) *best = missing ? std::numeric_limits<C>::quiet_NaN() : found;
    else *best = found;
  }
};
// Where it is first.
struct FindPlace {
  template <class C>
  [[gnu::always_inline]] static inline void run(const C* x, int64_t n, C wanted, int64_t* place) {
    constexpr int64_t together = 64;
    for (int64_t begin = 0; begin < n; begin += together) {
      const int64_t count = std::min(together, n - begin);
      BitsOf<C> hits = 0;
      if (math::is_nan(wanted)) {
        for (int64_t i = 0; i < count; ++i) hits |= BitsOf<C>(math::is_nan(x[begin + i]));
      } else {
        for (int64_t i = 0; i < count; ++i) hits |= BitsOf<C>(x[begin + i] == wanted);
      }
      if (!hits) continue;
      for (int64_t i = begin;; ++i)
        if (x[i] == wanted || (math::is_nan(wanted) && math::is_nan(x[i]))) {
          *place = i;
          return;
        }
    }
  }
};

template <class T>
using Compared = std::conditional_t<std::is_same_v<T, bool>, uint8_t, compute_t<T>>;

template <class T>
constexpr bool kReadDirectly = sizeof(T) == sizeof(Compared<T>);

template <class T>
const Compared<T>* read(const char* data, int64_t stride, int64_t n, Compared<T>* buffer) {
  using C = Compared<T>;
  if (kReadDirectly<T> && stride == int64_t(sizeof(T))) return reinterpret_cast<const C*>(data);
  converter(dtype_of<T>, dtype_of<C>)(data, stride, reinterpret_cast<char*>(buffer), sizeof(C), n);
  return buffer;
}

template <class T, bool kMax>
int64_t best_index(const char* data, int64_t stride, int64_t n, T& value) {
  using C = Compared<T>;
  alignas(64) C buffer[kBlock];
  C best{};
  int64_t index = -1;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    const C* x = read<T>(data + begin * stride, stride, count, buffer);
    C found;
    at_level<FindBest<kMax>>(x, count, &found);
    if (index >= 0 && !beats<C, kMax>(found, best)) continue;
    best = found;
    int64_t place = 0;
    at_level<FindPlace>(x, count, found, &place);
    index = begin + place;
  }
  value = T(best);
  return index;
}

// One element of each of some lines that lie side by side: the best so far, and the number of its element.
template <bool kMax>
struct TakeElements {
  template <class C, class I>
  [[gnu::always_inline]] static inline void run(const C* x, C* best, I* place, I number, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const C value = x[i], old = best[i];
      const bool takes = ((kMax ? value > old : value < old) | math::is_nan(value)) & !math::is_nan(old);
      best[i] = math::select(takes, value, old);
      place[i] = takes ? number : place[i];
    }
  }
};

constexpr int64_t kShort = 16;  // lines of so few elements are worth less than a search of each

struct Line {
  int64_t size, stride;  // of the searched dimension, in bytes
  bool with_value;
};

// Operands of the plan: index, input, value.
template <class T, bool kMax>
void search_row(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Line& line = *static_cast<const Line*>(context);
  const auto put = [&](int64_t i, int64_t index, T value) {
    *reinterpret_cast<int64_t*>(data[0] + i * strides[0]) = index;
    if (line.with_value) *reinterpret_cast<T*>(data[2] + i * strides[2]) = value;
  };
  const bool side_by_side = strides[1] == int64_t(sizeof(T)) && line.stride != int64_t(sizeof(T));
  if (n >= 8 && (side_by_side || line.size <= kShort) && line.size < INT32_MAX) {
    using C = Compared<T>;
    alignas(64) C best[kSide], buffer[kSide];
    alignas(64) int32_t place[kSide];
    for (int64_t begin = 0; begin < n; begin += kSide) {
      const int64_t count = std::min(kSide, n - begin);
      const char* first = data[1] + begin * strides[1];
      std::copy_n(read<T>(first, strides[1], count, buffer), count, best);
      std::fill_n(place, count, 0);
      for (int64_t k = 1; k < line.size; ++k)
        at_level<TakeElements<kMax>>(read<T>(first + k * line.stride, strides[1], count, buffer), &best[0],
                                     &place[0], int32_t(k), count);
      for (int64_t i = 0; i < count; ++i) put(begin + i, place[i], T(best[i]));
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    T value;
    const int64_t index = best_index<T, kMax>(data[1] + i * strides[1], line.stride, line.size, value);
    put(i, index, value);
  }
}

// A result shaped like `in` without `dim`, given one with `dim` of size 1 or already without it.
struct Squeezed {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  View view;
  Squeezed(const View& from, int dim, bool drop) {
    int count = 0;
    for (int d = 0; d < from.ndim; ++d) {
      if (drop && d == dim) continue;
      sizes[count] = from.sizes[d];
      strides[count++] = from.strides[d];
    }
    view = {from.data, sizes, strides, count, from.dtype};
  }
};

void search(bool max, const View& in, int dim, const View& out_index, const View* out_value,
            const char* name) {
  MT_CHECK(in.ndim <= kMaxDims, name, ": tensors with more than ", kMaxDims, " dimensions are not supported");
  MT_CHECK(out_index.dtype == DType::int64, name, ": indices must be int64, got ",
           info(out_index.dtype).name);
  const int64_t size = in.ndim ? in.sizes[dim] : 1, stride = in.ndim ? in.strides[dim] : 0;
  const Squeezed lines(in, dim, in.ndim > 0);
  if (lines.view.numel() == 0) return;
  MT_CHECK_AS(index, size > 0, name, "(): Expected reduction dim ", dim, " to have non-zero size.");
  const bool keeps = in.ndim > 0 && out_index.ndim == in.ndim;
  const Squeezed index(out_index, dim, keeps);
  const Squeezed value(out_value ? *out_value : out_index, dim, keeps);
  const View* operands[] = {&index.view, &lines.view, &value.view};
  Plan plan;
  make_plan(plan, operands, 3);
  const Line line{size, stride * int64_t(itemsize(in.dtype)), out_value != nullptr};
  const int64_t grain = std::max<int64_t>(1, kGrain / size);
  dispatch<domains::every_ordered>(in.dtype, name, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_row(plan, grain, max ? search_row<T, true> : search_row<T, false>, &line);
  });
}

}  // namespace

void arg_reduce(bool max, const View& in, const View& out_index, int dim) {
  const char* name = max ? "argmax" : "argmin";
  if (dim >= 0) return search(max, in, dim, out_index, nullptr, name);
  const int64_t numel = in.numel();
  MT_CHECK_AS(index, numel > 0, name,
              "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
              "with the 'dim' argument.");
  int64_t dense;
  if (is_dense(in, dense)) {
    const int64_t one = 1;
    const View flat{in.data, &numel, &one, 1, in.dtype},
        result{out_index.data, nullptr, nullptr, 0, out_index.dtype};
    return search(max, flat, 0, result, nullptr, name);
  }
  // Row-major order over strides: each innermost line by itself, then the best of the lines in order.
  dispatch<domains::every_ordered>(in.dtype, name, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = compute_t<T>;
    const int inner = in.ndim - 1;
    const int64_t width = in.sizes[inner], item = sizeof(T);
    C best{};
    int64_t best_at = -1, index[kMaxDims] = {};
    const char* data = in.as<char>();
    for (int64_t begin = 0; begin < numel; begin += width) {
      T value;
      const int64_t at = max ? best_index<T, true>(data, in.strides[inner] * item, width, value)
                             : best_index<T, false>(data, in.strides[inner] * item, width, value);
      if (best_at < 0 || (max ? beats<C, true>(C(value), best) : beats<C, false>(C(value), best))) {
        best = C(value), best_at = begin + at;
      }
      for (int d = inner - 1; d >= 0; --d) {
        data += in.strides[d] * item;
        if (++index[d] < in.sizes[d]) break;
        data -= in.strides[d] * item * in.sizes[d];
        index[d] = 0;
      }
    }
    *out_index.as<int64_t>() = best_at;
  });
}

void max_min_dim(bool max, const View& in, int dim, const View& out_value, const View& out_index) {
  MT_CHECK(out_value.dtype == in.dtype, max ? "max" : "min", ": values must be ", info(in.dtype).name,
           ", got ", info(out_value.dtype).name);
  search(max, in, dim, out_index, &out_value, max ? "max" : "min");
}

}  // namespace mt::kernels
