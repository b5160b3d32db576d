#include <algorithm>

#include "kernels/common/arithmetic.h"
#include "kernels/common/iterate.h"
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

template <class T, bool kMax>
int64_t best_index(const char* data, int64_t stride, int64_t n, T& value) {
  using C = compute_t<T>;
  C best = C(*reinterpret_cast<const T*>(data));
  int64_t index = 0;
  for (int64_t i = 1; i < n; ++i) {
    const C x = C(*reinterpret_cast<const T*>(data + i * stride));
    if (beats<C, kMax>(x, best)) best = x, index = i;
  }
  value = T(best);
  return index;
}

struct Line {
  int64_t size, stride;  // of the searched dimension, in bytes
  bool with_value;
};

// Operands of the plan: index, input, value.
template <class T, bool kMax>
void search_row(char* const* data, const int64_t* strides, int64_t n, const void* context) {
  const Line& line = *static_cast<const Line*>(context);
  for (int64_t i = 0; i < n; ++i) {
    T value;
    *reinterpret_cast<int64_t*>(data[0] + i * strides[0]) =
        best_index<T, kMax>(data[1] + i * strides[1], line.stride, line.size, value);
    if (line.with_value) *reinterpret_cast<T*>(data[2] + i * strides[2]) = value;
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
