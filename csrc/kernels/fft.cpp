// The lines of a view along one dimension, brought into lanes (see Note [Lanes] in fft_plan.h), transformed and
// put back.
#include "kernels/fft.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/fft_plan.h"
#include "kernels/iterate.h"
#include "kernels/parallel.h"
#include "kernels/types.h"

namespace mt::kernels {
namespace {

constexpr int64_t kMaxLanes = 16;
constexpr int64_t kPlaneBytes =
    65536;  // a plane larger than this gets fewer lanes, so that it stays in cache

// Lines that are transformed together. Steps (along a line) and lines (from one to the next) count elements of the
// real type.
template <class T>
struct Group {
  const T* in;
  T* out;
  int64_t in_step, in_line, out_step, out_line, lanes;
};

// The dimensions other than the transformed one, innermost first, neighbours merged where both views allow it.
struct OuterDims {
  int count = 0;
  int64_t sizes[kMaxDims], in[kMaxDims], out[kMaxDims];

  OuterDims(const View& a, const View& b, int dim) {
    int order[kMaxDims], n = 0;
    for (int d = 0; d < b.ndim; ++d)
      if (d != dim && b.sizes[d] != 1) order[n++] = d;
    std::stable_sort(order, order + n, [&](int x, int y) { return b.strides[x] < b.strides[y]; });
    for (int i = 0; i < n; ++i) {
      const int d = order[i];
      if (count && a.strides[d] == in[count - 1] * sizes[count - 1] &&
          b.strides[d] == out[count - 1] * sizes[count - 1]) {
        sizes[count - 1] *= b.sizes[d];
        continue;
      }
      sizes[count] = b.sizes[d], in[count] = a.strides[d], out[count] = b.strides[d];
      ++count;
    }
    if (count == 0) sizes[0] = 1, in[0] = out[0] = 0, count = 1;
  }
};

void check_views(const View& in, const View& out, int dim) {
  MT_CHECK(in.ndim == out.ndim && dim >= 0 && dim < out.ndim,
           "fft: expected views of the same number of dimensions, got ", in.ndim, " and ", out.ndim,
           " and dimension ", dim);
  for (int d = 0; d < out.ndim; ++d)
    MT_CHECK(d == dim || in.sizes[d] == out.sizes[d], "fft: sizes must agree except along dimension ", dim,
             ", got ", in.sizes[d], " and ", out.sizes[d], " at ", d);
  MT_CHECK(real_type(in.dtype) == real_type(out.dtype), "fft: expected one precision, got ",
           info(in.dtype).name, " and ", info(out.dtype).name);
}

template <class T>
struct Buffers {
  std::unique_ptr<T[]> memory;
  Planes<T> data, work;
  explicit Buffers(int64_t plane) : memory(new T[size_t(4 * plane)]) {
    T* at = memory.get();
    data = {at, at + plane}, work = {at + 2 * plane, at + 3 * plane};
  }
};

// Calls f(group, buffers) for all lines, over threads.
template <class T, class F>
void for_each_group(const View& in, const View& out, int dim, int64_t room, F&& f) {
  const OuterDims outer(in, out, dim);
  const int64_t in_unit = is_complex(in.dtype) ? 2 : 1, out_unit = is_complex(out.dtype) ? 2 : 1;
  // Lines that interleave share cache lines, so at least a few of them go together.
  const int64_t fewest = outer.in[0] == 1 ? 8 : 1;
  const int64_t wanted = std::clamp<int64_t>(kPlaneBytes / (room * int64_t(sizeof(T))), fewest, kMaxLanes);
  const int64_t lanes = std::min(wanted, outer.sizes[0]);
  const int64_t per_row = (outer.sizes[0] + lanes - 1) / lanes;
  int64_t groups = per_row;
  for (int d = 1; d < outer.count; ++d) groups *= outer.sizes[d];
  const int64_t grain = std::max<int64_t>(1, kGrain / (8 * room * lanes));
  parallel_for(0, groups, grain, [&](int64_t begin, int64_t end) {
    Buffers<T> buffers(room * lanes);
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g % per_row * lanes;
      int64_t from = first * outer.in[0], to = first * outer.out[0], rest = g / per_row;
      for (int d = 1; d < outer.count; ++d) {
        const int64_t at = rest % outer.sizes[d];
        rest /= outer.sizes[d];
        from += at * outer.in[d], to += at * outer.out[d];
      }
      f(Group<T>{in.as<T>() + from * in_unit, out.as<T>() + to * out_unit, in.strides[dim] * in_unit,
                 outer.in[0] * in_unit, out.strides[dim] * out_unit, outer.out[0] * out_unit,
                 std::min(lanes, outer.sizes[0] - first)},
        buffers);
    }
  });
}

// n numbers of each line into a plane; a step between them and a line apart.
template <class T>
void load(const T* in, int64_t step, int64_t line, int64_t n, int64_t lanes, T* plane) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t q = 0; q < lanes; ++q) plane[i * lanes + q] = in[i * step + q * line];
}
template <class T>
void store(const T* plane, int64_t n, int64_t lanes, T scale, T* out, int64_t step, int64_t line) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t q = 0; q < lanes; ++q) out[i * step + q * line] = plane[i * lanes + q] * scale;
}

template <class T>
Planes<T> run(const FftPlan<T>& plan, Buffers<T>& buffers, int64_t lanes, bool forward) {
  if (forward) return plan.run(buffers.data, buffers.work, lanes);
  return plan.run(buffers.data.exchanged(), buffers.work.exchanged(), lanes).exchanged();
}

template <class T>
void complex_lines(const View& in, const View& out, int dim, bool forward, T scale) {
  const int64_t n = out.sizes[dim];
  const auto plan = FftPlan<T>::of(n);
  const bool real = !is_complex(in.dtype);
  for_each_group<T>(in, out, dim, plan->room(), [&](const Group<T>& g, Buffers<T>& buffers) {
    load(g.in, g.in_step, g.in_line, n, g.lanes, buffers.data.re);
    if (real) std::fill_n(buffers.data.im, n * g.lanes, T(0));
    else load(g.in + 1, g.in_step, g.in_line, n, g.lanes, buffers.data.im);
    const Planes<T> made = run(*plan, buffers, g.lanes, forward);
    store(made.re, n, g.lanes, scale, g.out, g.out_step, g.out_line);
    store(made.im, n, g.lanes, scale, g.out + 1, g.out_step, g.out_line);
  });
}

// Note [Halves]: n real numbers, n even, are transformed as n/2 complex ones z = even + i odd. Z and its mirror image
// separate into the transforms E and O of the even and the odd ones, and X[k] = E[k] + exp(-2 pi i k / n) O[k].
template <class T>
void even_real_lines(const View& in, const View& out, int dim, T scale) {
  const int64_t n = in.sizes[dim], half = n / 2;
  const auto plan = FftPlan<T>::of(half);
  const auto turn = HalfTurn<T>::of(n);
  for_each_group<T>(in, out, dim, plan->room(), [&](const Group<T>& g, Buffers<T>& buffers) {
    load(g.in, 2 * g.in_step, g.in_line, half, g.lanes, buffers.data.re);
    load(g.in + g.in_step, 2 * g.in_step, g.in_line, half, g.lanes, buffers.data.im);
    const Planes<T> z = run(*plan, buffers, g.lanes, true);
    const T weight = scale / 2;
    for (int64_t k = 0; k <= half; ++k) {
      const T c = turn->re[size_t(k)], s = turn->im[size_t(k)];
      const int64_t here = k % half * g.lanes, there = (half - k) % half * g.lanes;
      for (int64_t q = 0; q < g.lanes; ++q) {
        const T a = z.re[here + q], b = z.im[here + q], x = z.re[there + q], y = z.im[there + q];
        const T even_re = a + x, even_im = b - y, odd_re = b + y, odd_im = x - a;
        T* at = g.out + k * g.out_step + q * g.out_line;
        at[0] = weight * (even_re + odd_re * c - odd_im * s);
        at[1] = weight * (even_im + odd_re * s + odd_im * c);
      }
    }
  });
}

template <class T>
void odd_real_lines(const View& in, const View& out, int dim, T scale) {
  const int64_t n = in.sizes[dim];
  const auto plan = FftPlan<T>::of(n);
  for_each_group<T>(in, out, dim, plan->room(), [&](const Group<T>& g, Buffers<T>& buffers) {
    load(g.in, g.in_step, g.in_line, n, g.lanes, buffers.data.re);
    std::fill_n(buffers.data.im, n * g.lanes, T(0));
    const Planes<T> made = run(*plan, buffers, g.lanes, true);
    store(made.re, n / 2 + 1, g.lanes, scale, g.out, g.out_step, g.out_line);
    store(made.im, n / 2 + 1, g.lanes, scale, g.out + 1, g.out_step, g.out_line);
  });
}

// Note [Halves] the other way: Z = E + i O from X and its mirror image.
template <class T>
void even_inverse_lines(const View& in, const View& out, int dim, T scale) {
  const int64_t n = out.sizes[dim], half = n / 2;
  const auto plan = FftPlan<T>::of(half);
  const auto turn = HalfTurn<T>::of(n);
  for_each_group<T>(in, out, dim, plan->room(), [&](const Group<T>& g, Buffers<T>& buffers) {
    for (int64_t k = 0; k < half; ++k) {
      const T c = turn->re[size_t(k)], s = -turn->im[size_t(k)];
      for (int64_t q = 0; q < g.lanes; ++q) {
        const T* here = g.in + k * g.in_step + q * g.in_line;
        const T* there = g.in + (half - k) * g.in_step + q * g.in_line;
        const T a = here[0], b = k ? here[1] : T(0), x = there[0], y = k ? there[1] : T(0);
        const T odd_re = a - x, odd_im = b + y;
        buffers.data.re[k * g.lanes + q] = a + x - (odd_re * s + odd_im * c);
        buffers.data.im[k * g.lanes + q] = b - y + (odd_re * c - odd_im * s);
      }
    }
    const Planes<T> z = run(*plan, buffers, g.lanes, false);
    store(z.re, half, g.lanes, scale, g.out, 2 * g.out_step, g.out_line);
    store(z.im, half, g.lanes, scale, g.out + g.out_step, 2 * g.out_step, g.out_line);
  });
}

template <class T>
void odd_inverse_lines(const View& in, const View& out, int dim, T scale) {
  const int64_t n = out.sizes[dim];
  const auto plan = FftPlan<T>::of(n);
  for_each_group<T>(in, out, dim, plan->room(), [&](const Group<T>& g, Buffers<T>& buffers) {
    const Planes<T> x = buffers.data;
    load(g.in, g.in_step, g.in_line, n / 2 + 1, g.lanes, x.re);
    load(g.in + 1, g.in_step, g.in_line, n / 2 + 1, g.lanes, x.im);
    std::fill_n(x.im, g.lanes, T(0));
    for (int64_t k = 1; k <= n / 2; ++k)
      for (int64_t q = 0; q < g.lanes; ++q) {
        x.re[(n - k) * g.lanes + q] = x.re[k * g.lanes + q];
        x.im[(n - k) * g.lanes + q] = -x.im[k * g.lanes + q];
      }
    const Planes<T> made = run(*plan, buffers, g.lanes, false);
    store(made.re, n, g.lanes, scale, g.out, g.out_step, g.out_line);
  });
}

}  // namespace

void fft(const View& in, const View& out, int dim, bool forward, double scale) {
  check_views(in, out, dim);
  MT_CHECK(in.sizes[dim] == out.sizes[dim], "fft: expected ", in.sizes[dim], " points, got ", out.sizes[dim]);
  if (out.numel() == 0) return;
  if (out.dtype == DType::complex64) return complex_lines<float>(in, out, dim, forward, float(scale));
  if (out.dtype == DType::complex128) return complex_lines<double>(in, out, dim, forward, scale);
  fail_unsupported("fft", out.dtype);
}

void real_fft(const View& in, const View& out, int dim, double scale) {
  check_views(in, out, dim);
  const int64_t n = in.sizes[dim];
  MT_CHECK(out.sizes[dim] == n / 2 + 1, "fft: expected ", n / 2 + 1, " frequencies, got ", out.sizes[dim]);
  if (in.numel() == 0) return;
  dispatch<dtype_set(DType::float32, DType::float64)>(in.dtype, "real_fft", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (n % 2 == 0) even_real_lines<T>(in, out, dim, T(scale));
    else odd_real_lines<T>(in, out, dim, T(scale));
  });
}

void inverse_real_fft(const View& in, const View& out, int dim, double scale) {
  check_views(in, out, dim);
  const int64_t n = out.sizes[dim];
  MT_CHECK(in.sizes[dim] == n / 2 + 1, "fft: expected ", n / 2 + 1, " frequencies, got ", in.sizes[dim]);
  if (out.numel() == 0) return;
  dispatch<dtype_set(DType::float32, DType::float64)>(out.dtype, "inverse_real_fft", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (n % 2 == 0) even_inverse_lines<T>(in, out, dim, T(scale));
    else odd_inverse_lines<T>(in, out, dim, T(scale));
  });
}

}  // namespace mt::kernels
