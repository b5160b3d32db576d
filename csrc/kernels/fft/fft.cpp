// The lines of a view along one dimension, brought into lanes (see Note [Lanes] in plan.h), transformed and
// put back.
#include "kernels/fft/fft.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "kernels/common/iterate.h"
#include "kernels/common/levels.h"
#include "kernels/common/parallel.h"
#include "kernels/common/squares.h"
#include "kernels/common/types.h"
#include "kernels/fft/plan.h"

namespace mt::kernels {
namespace {

constexpr int64_t kMaxLanes = 16;
constexpr int64_t kLongLine =
    64;  // a line at least this long, with its numbers side by side, may be its own lane
constexpr int64_t kTurnedLine = 4096;  // up to this length, lines that fill vectors are turned into lanes
constexpr int64_t kAliased = 4096;     // bytes: lines this far apart push one another out of the first cache
constexpr int64_t kPlaneBytes =
    65536;  // a plane larger than this gets fewer lanes, so that it stays in cache
constexpr int64_t kSliceBytes = int64_t(1) << 20;  // what stays in the second cache between two dimensions

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
  struct alignas(64) Vector {
    T numbers[kFullLanes<T>];
  };
  std::unique_ptr<Vector[]> memory;
  Planes<T> data, work;
  explicit Buffers(int64_t room) {
    // One vector more, so that planes do not push one another out of the first cache.
    const int64_t vectors = room / kFullLanes<T> + 2, plane = vectors * kFullLanes<T>;
    memory.reset(new Vector[size_t(4 * vectors)]);
    T* at = memory[0].numbers;
    data = {at, at + plane}, work = {at + 2 * plane, at + 3 * plane};
  }
};

// Calls f(group, buffers) for all lines, over threads. A group has up to `together` lines for each lane that the buffers
// have room for.
template <class T, class F>
void for_each_group(const View& in, const View& out, int dim, const FftPlan<T>& plan, int64_t room,
                    int64_t together, F&& f) {
  const OuterDims outer(in, out, dim);
  const int64_t in_unit = is_complex(in.dtype) ? 2 : 1, out_unit = is_complex(out.dtype) ? 2 : 1;
  // Lines that interleave share cache lines, so at least a few of them go together.
  const int64_t fewest = outer.in[0] == 1 ? 8 : 1;
  const bool side_by_side = in.strides[dim] == 1 && out.strides[dim] == 1;
  // A line whose passes have whole vectors does as well alone as a few lines together.
  constexpr int64_t side = Square<T>::side;
  const int64_t length = std::max(in.sizes[dim], out.sizes[dim]);
  const int64_t fewest_turned = length % 8 == 0 ? kFullLanes<T> : side;
  const bool aliased = outer.in[0] * in_unit * int64_t(sizeof(T)) % kAliased == 0;
  const bool enough =
      outer.sizes[0] >= fewest_turned && room <= kTurnedLine && !aliased && !plan.has_columns();
  const bool alone = side_by_side && room >= kLongLine && !enough;
  const int64_t wanted = std::clamp<int64_t>(kPlaneBytes / (room * int64_t(sizeof(T))), fewest, kMaxLanes);
  const int64_t full =
      side_by_side && enough ? std::min(kFullLanes<T>, outer.sizes[0] / side * side) : wanted;
  const int64_t lanes = alone ? 1 : std::min(full, outer.sizes[0]);
  const int64_t lines = std::min(lanes * together, outer.sizes[0]);
  const int64_t per_row = (outer.sizes[0] + lines - 1) / lines;
  int64_t groups = per_row;
  for (int d = 1; d < outer.count; ++d) groups *= outer.sizes[d];
  const int64_t grain = std::max<int64_t>(1, kGrain / (8 * room * lanes));
  parallel_for(0, groups, grain, [&](int64_t begin, int64_t end) {
    Buffers<T> buffers(room * lanes);
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g % per_row * lines;
      int64_t from = first * outer.in[0], to = first * outer.out[0], rest = g / per_row;
      for (int d = 1; d < outer.count; ++d) {
        const int64_t at = rest % outer.sizes[d];
        rest /= outer.sizes[d];
        from += at * outer.in[d], to += at * outer.out[d];
      }
      f(Group<T>{in.as<T>() + from * in_unit, out.as<T>() + to * out_unit, in.strides[dim] * in_unit,
                 outer.in[0] * in_unit, out.strides[dim] * out_unit, outer.out[0] * out_unit,
                 std::min(lines, outer.sizes[0] - first)},
        buffers);
    }
  });
}

// Numbers of several lines that lie side by side are turned into lanes, and back, in squares: element e of a line, real
// or a part of a complex number, is in row e / kParts of plane e % kParts. Returns how many elements of each line were.
template <int kParts, class T>
int64_t turn_into_lanes(const T* in, int64_t line, int64_t elements, int64_t lanes, Planes<T> planes) {
  constexpr int64_t side = Square<T>::side;
  if (lanes % side != 0) return 0;
  int64_t e = 0;
  for (; e + side <= elements; e += side) {
    for (int64_t q = 0; q < lanes; q += side) {
      Square<T>::turn([&](int64_t r) { return load_row(in + (q + r) * line + e); },
                      [&](int64_t r, typename Square<T>::V value) {
                        T* plane = kParts == 2 && r % 2 ? planes.im : planes.re;
                        store_row(plane + (e + r) / kParts * lanes + q, value);
                      });
    }
  }
  return e;
}
template <int kParts, class T>
int64_t turn_into_lines(Planes<T> planes, int64_t elements, int64_t lanes, T scale, T* out, int64_t line) {
  constexpr int64_t side = Square<T>::side;
  if (lanes % side != 0) return 0;
  int64_t e = 0;
  for (; e + side <= elements; e += side) {
    for (int64_t q = 0; q < lanes; q += side) {
      Square<T>::turn(
          [&](int64_t r) {
            const T* plane = kParts == 2 && r % 2 ? planes.im : planes.re;
            return load_row(plane + (e + r) / kParts * lanes + q);
          },
          [&](int64_t r, typename Square<T>::V value) {
            store_row(out + (q + r) * line + e, value * scale);
          });
    }
  }
  return e;
}

// n numbers of each line into a plane; a step between them and a line apart.
template <class T>
void load(const T* in, int64_t step, int64_t line, int64_t n, int64_t lanes, T* plane) {
  if (step == 1 && lanes > 1) {
    const int64_t done = turn_into_lanes<1>(in, line, n, lanes, Planes<T>{plane, plane});
    in += done, plane += done * lanes, n -= done;
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t q = 0; q < lanes; ++q) plane[i * lanes + q] = in[i * step + q * line];
}
template <class T>
void store(const T* plane, int64_t n, int64_t lanes, T scale, T* out, int64_t step, int64_t line) {
  if (step == 1 && lanes > 1) {
    T* from = const_cast<T*>(plane);
    const int64_t done = turn_into_lines<1>(Planes<T>{from, from}, n, lanes, scale, out, line);
    out += done, plane += done * lanes, n -= done;
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t q = 0; q < lanes; ++q) out[i * step + q * line] = plane[i * lanes + q] * scale;
}

// Rows of complex numbers side by side, a step from one row to the next, into planes and back.
template <class T>
struct Apart {
  [[gnu::always_inline]] static inline void run(const T* in, int64_t step, int64_t rows, int64_t numbers,
                                                Planes<T> planes) {
    for (int64_t row = 0; row < rows; ++row, in += step) {
      T *re = planes.re + row * numbers, *im = planes.im + row * numbers;
#pragma GCC ivdep
      for (int64_t i = 0; i < numbers; ++i) re[i] = in[2 * i], im[i] = in[2 * i + 1];
    }
  }
};
template <class T>
struct Together {
  [[gnu::always_inline]] static inline void run(Planes<T> planes, int64_t rows, int64_t numbers, T scale,
                                                T* out, int64_t step) {
    for (int64_t row = 0; row < rows; ++row, out += step) {
      const T *re = planes.re + row * numbers, *im = planes.im + row * numbers;
#pragma GCC ivdep
      for (int64_t i = 0; i < numbers; ++i) out[2 * i] = re[i] * scale, out[2 * i + 1] = im[i] * scale;
    }
  }
};

// Complex numbers into planes and back; their imaginary parts are `apart` from the real ones.
template <class T>
void load(const Group<T>& g, int64_t n, Planes<T> planes, int64_t apart = 1) {
  if (apart == 1) {
    if (g.lanes == 1 && g.in_step == 2) return at_level<Apart<T>>(g.in, int64_t(0), int64_t(1), n, planes);
    if (g.in_line == 2) return at_level<Apart<T>>(g.in, g.in_step, n, g.lanes, planes);
  }
  const int64_t done =
      g.in_step == 2 && apart == 1 ? turn_into_lanes<2>(g.in, g.in_line, 2 * n, g.lanes, planes) / 2 : 0;
  const T* rest = g.in + done * g.in_step;
  load(rest, g.in_step, g.in_line, n - done, g.lanes, planes.re + done * g.lanes);
  load(rest + apart, g.in_step, g.in_line, n - done, g.lanes, planes.im + done * g.lanes);
}
template <class T>
void store(Planes<T> planes, int64_t n, T scale, const Group<T>& g, int64_t apart = 1) {
  if (apart == 1) {
    if (g.lanes == 1 && g.out_step == 2)
      return at_level<Together<T>>(planes, int64_t(1), n, scale, g.out, int64_t(0));
    if (g.out_line == 2) return at_level<Together<T>>(planes, n, g.lanes, scale, g.out, g.out_step);
  }
  const int64_t done = g.out_step == 2 && apart == 1
                           ? turn_into_lines<2>(planes, 2 * n, g.lanes, scale, g.out, g.out_line) / 2
                           : 0;
  T* rest = g.out + done * g.out_step;
  store(planes.re + done * g.lanes, n - done, g.lanes, scale, rest, g.out_step, g.out_line);
  store(planes.im + done * g.lanes, n - done, g.lanes, scale, rest + apart, g.out_step, g.out_line);
}
template <class T>
Planes<T> run(const FftPlan<T>& plan, Buffers<T>& buffers, int64_t lanes, bool forward, Pairs<T> pairs) {
  if (forward) return plan.run(buffers.data, buffers.work, lanes, pairs);
  pairs.swapped = true;
  return plan.run(buffers.data.exchanged(), buffers.work.exchanged(), lanes, pairs).exchanged();
}

// Complex numbers of each line are loaded, or left to the plan's first pass, and stored by its last one or after it.
template <class T>
void load_pairs(const FftPlan<T>& plan, const Group<T>& g, Planes<T> planes, int64_t apart, Pairs<T>& pairs) {
  const bool rows = g.lanes == 1 ? g.in_step == 2 : g.in_line == 2;
  if (rows && apart == 1 && plan.reads_pairs(g.lanes)) pairs.in = g.in, pairs.in_row = g.in_step;
  else load(g, plan.length(), planes, apart);
}
template <class T>
void transform(const FftPlan<T>& plan, const Group<T>& g, Buffers<T>& buffers, bool forward, T scale,
               Pairs<T> pairs, int64_t apart) {
  const bool rows = g.lanes == 1 ? g.out_step == 2 : g.out_line == 2;
  if (rows && apart == 1 && plan.writes_pairs(g.lanes))
    pairs.out = g.out, pairs.out_row = g.out_step, pairs.scale = scale;
  const Planes<T> made = run(plan, buffers, g.lanes, forward, pairs);
  if (!pairs.out) store(made, plan.length(), scale, g, apart);
}

template <class T>
void complex_lines(const View& in, const View& out, int dim, bool forward, T scale) {
  const int64_t n = out.sizes[dim];
  const auto plan = FftPlan<T>::of(n);
  const bool real = !is_complex(in.dtype);
  for_each_group<T>(in, out, dim, *plan, plan->room(), 1, [&](const Group<T>& g, Buffers<T>& buffers) {
    Pairs<T> pairs;
    if (real) {
      load(g.in, g.in_step, g.in_line, n, g.lanes, buffers.data.re);
      std::fill_n(buffers.data.im, n * g.lanes, T(0));
    } else {
      load_pairs(*plan, g, buffers.data, 1, pairs);
    }
    transform(*plan, g, buffers, forward, scale, pairs, 1);
  });
}

// Note [Halves]: n real numbers, n even, are transformed as n/2 complex ones z = even + i odd. Z and its mirror image
// separate into the transforms E and O of the even and the odd ones, and X[k] = E[k] + exp(-2 pi i k / n) O[k].
// Rows k and n/2 - k meet; a single lane runs along k, several run along the lanes.
template <class F>
[[gnu::always_inline]] inline void for_each_meeting(int64_t first, int64_t half, int64_t lanes, F&& f) {
  if (lanes == 1) {
#pragma GCC ivdep
    for (int64_t k = first; k < half; ++k) f(k, k, half - k);
    return;
  }
  for (int64_t k = first; k < half; ++k)
#pragma GCC ivdep
    for (int64_t q = 0; q < lanes; ++q) f(k, k * lanes + q, (half - k) * lanes + q);
}

// X, rows 0 to n/2, twice as large; kWhole: the other rows, too, which are their mirror image's conjugates.
template <class T, bool kWhole>
struct JoinHalves {
  [[gnu::always_inline]] static inline void run(Planes<T> z, Planes<T> to, const T* cosine, const T* sine,
                                                int64_t half, int64_t lanes) {
    const int64_t far = half * lanes;
    for_each_meeting(1, half, lanes, [=](int64_t k, int64_t here, int64_t there) {
      const T a = z.re[here], b = z.im[here], x = z.re[there], y = z.im[there];
      const T re = a + x + (b + y) * cosine[k] - (x - a) * sine[k];
      const T im = b - y + (b + y) * sine[k] + (x - a) * cosine[k];
      to.re[here] = re, to.im[here] = im;
      if constexpr (kWhole) to.re[far + there] = re, to.im[far + there] = -im;
    });
    for (int64_t q = 0; q < lanes; ++q) {
      to.re[q] = 2 * (z.re[q] + z.im[q]), to.re[half * lanes + q] = 2 * (z.re[q] - z.im[q]);
      to.im[q] = to.im[half * lanes + q] = 0;
    }
  }
};

// The other way: Z = E + i O from X, again twice as large.
template <class T>
struct SplitHalves {
  [[gnu::always_inline]] static inline void run(Planes<T> x, Planes<T> to, const T* cosine, const T* sine,
                                                int64_t half, int64_t lanes) {
    for (int64_t q = 0; q < lanes; ++q) x.im[q] = x.im[half * lanes + q] = 0;
    for_each_meeting(0, half, lanes, [=](int64_t k, int64_t here, int64_t there) {
      const T odd_re = x.re[here] - x.re[there], odd_im = x.im[here] + x.im[there];
      to.re[here] = x.re[here] + x.re[there] + odd_re * sine[k] - odd_im * cosine[k];
      to.im[here] = x.im[here] - x.im[there] + odd_re * cosine[k] + odd_im * sine[k];
    });
  }
};

template <bool kWhole, class T>
void even_real_lines(const View& in, const View& out, int dim, T scale) {
  const int64_t n = in.sizes[dim], half = n / 2;
  const auto plan = FftPlan<T>::of(half);
  const auto turn = HalfTurn<T>::of(n);
  const int64_t room = kWhole ? std::max(plan->room(), n) : plan->room() + 1;
  for_each_group<T>(in, out, dim, *plan, room, 1, [&](const Group<T>& g, Buffers<T>& buffers) {
    Group<T> pairs = g;  // neighbours as the parts of complex numbers
    pairs.in_step *= 2;
    Pairs<T> read;
    load_pairs(*plan, pairs, buffers.data, g.in_step, read);
    const Planes<T> z = run(*plan, buffers, g.lanes, true, read);
    const Planes<T> joined = z.re == buffers.data.re ? buffers.work : buffers.data;
    at_level<JoinHalves<T, kWhole>>(z, joined, turn->re.data(), turn->im.data(), half, g.lanes);
    store(joined, kWhole ? n : half + 1, scale / 2, g);
  });
}

// Note [Pairs]: two real lines are transformed as one of complex numbers x + i y. Of Z, what is its own mirror image's
// conjugate is X, the rest i Y. The first half of a group's lines are the x, the second half the y; one may lack its y.
template <class T>
void odd_real_lines(const View& in, const View& out, int dim, T scale) {
  const int64_t n = in.sizes[dim];
  const auto plan = FftPlan<T>::of(n);
  for_each_group<T>(in, out, dim, *plan, plan->room(), 2, [&](const Group<T>& g, Buffers<T>& buffers) {
    const int64_t lanes = (g.lanes + 1) / 2, others = g.lanes - lanes;
    load(g.in, g.in_step, g.in_line, n, lanes, buffers.data.re);
    if (others < lanes) std::fill_n(buffers.data.im, n * lanes, T(0));
    const T* second = g.in + lanes * g.in_line;
    if (others == lanes) {
      load(second, g.in_step, g.in_line, n, lanes, buffers.data.im);
    } else {
      for (int64_t i = 0; i < n; ++i)
        for (int64_t q = 0; q < others; ++q)
          buffers.data.im[i * lanes + q] = second[i * g.in_step + q * g.in_line];
    }
    const Planes<T> z = run(*plan, buffers, lanes, true, {});
    const T half = scale / 2;
    for (int64_t k = 0; k <= n / 2; ++k) {
      const int64_t here = k * lanes, there = (k ? n - k : 0) * lanes;
      T *x = g.out + k * g.out_step, *y = x + lanes * g.out_line;
      for (int64_t q = 0; q < lanes; ++q) {
        x[q * g.out_line] = (z.re[here + q] + z.re[there + q]) * half;
        x[q * g.out_line + 1] = (z.im[here + q] - z.im[there + q]) * half;
      }
      for (int64_t q = 0; q < others; ++q) {
        y[q * g.out_line] = (z.im[here + q] + z.im[there + q]) * half;
        y[q * g.out_line + 1] = (z.re[there + q] - z.re[here + q]) * half;
      }
    }
  });
}

template <class T>
void even_inverse_lines(const View& in, const View& out, int dim, T scale) {
  const int64_t n = out.sizes[dim], half = n / 2;
  const auto plan = FftPlan<T>::of(half);
  const auto turn = HalfTurn<T>::of(n);
  for_each_group<T>(in, out, dim, *plan, plan->room() + 1, 1, [&](const Group<T>& g, Buffers<T>& buffers) {
    load(g, half + 1, buffers.work);
    at_level<SplitHalves<T>>(buffers.work, buffers.data, turn->re.data(), turn->im.data(), half, g.lanes);
    Group<T> pairs = g;
    pairs.out_step *= 2;
    transform(*plan, pairs, buffers, false, scale, {}, g.out_step);
  });
}

// Pairs the other way: Z = X + i Y, both continued as conjugates of their mirror images.
template <class T>
void odd_inverse_lines(const View& in, const View& out, int dim, T scale) {
  const int64_t n = out.sizes[dim];
  const auto plan = FftPlan<T>::of(n);
  for_each_group<T>(in, out, dim, *plan, plan->room(), 2, [&](const Group<T>& g, Buffers<T>& buffers) {
    const int64_t lanes = (g.lanes + 1) / 2, others = g.lanes - lanes;
    const Planes<T> z = buffers.data;
    for (int64_t k = 0; k <= n / 2; ++k) {
      const int64_t here = k * lanes, there = (k ? n - k : 0) * lanes;
      const T *x = g.in + k * g.in_step, *y = x + lanes * g.in_line;
      for (int64_t q = 0; q < lanes; ++q) {
        const T a = x[q * g.in_line], b = k ? x[q * g.in_line + 1] : T(0);
        T c = 0, d = 0;
        if (q < others) c = y[q * g.in_line], d = k ? y[q * g.in_line + 1] : T(0);
        z.re[here + q] = a - d, z.im[here + q] = b + c;
        z.re[there + q] = a + d, z.im[there + q] = c - b;
      }
    }
    const Planes<T> made = run(*plan, buffers, lanes, false, {});
    store(made.re, n, lanes, scale, g.out, g.out_step, g.out_line);
    T* second = g.out + lanes * g.out_line;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t q = 0; q < others; ++q)
        second[i * g.out_step + q * g.out_line] = made.im[i * lanes + q] * scale;
  });
}

}  // namespace

void fft(const View& in, const View& out, int dim, bool forward, double scale) {
  check_views(in, out, dim);
  MT_CHECK(in.sizes[dim] == out.sizes[dim], "fft: expected ", in.sizes[dim], " points, got ", out.sizes[dim]);
  if (out.numel() == 0) return;
  dispatch<dtype_set(DType::float32, DType::float64)>(real_type(out.dtype), "fft", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const bool halves = !is_complex(in.dtype) && forward && out.sizes[dim] % 2 == 0;
    if (halves) even_real_lines<true>(in, out, dim, T(scale));
    else complex_lines<T>(in, out, dim, forward, T(scale));
  });
}

// Slices along all of `dims` are transformed one after the other, so that each is still in cache for its next dimension.
void fft(const View& in, const View& out, std::span<const int> all, bool forward, double scale) {
  // First what lies side by side, so that memory is read in order; the other dimensions then find it in cache.
  std::vector<int> dims(all.begin(), all.end());
  std::stable_sort(dims.begin(), dims.end(),
                   [&](int a, int b) { return std::abs(out.strides[a]) < std::abs(out.strides[b]); });
  const auto transform = [&](View from, const View& to, std::span<const int> along) {
    for (size_t i = 0; i < along.size(); ++i, from = to)
      fft(from, to, along[i], forward, i + 1 == along.size() ? scale : 1.0);
  };
  int64_t slice = 1, slices = 1;
  const auto is_transformed = [&](int d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); };
  for (int d = 0; d < out.ndim; ++d) (is_transformed(d) ? slice : slices) *= out.sizes[d];
  const bool fits = slice * int64_t(itemsize(out.dtype)) <= kSliceBytes;
  if (dims.size() < 2 || slices < get_num_threads() || !fits) return transform(in, out, dims);

  int64_t sizes[kMaxDims], in_strides[kMaxDims], out_strides[kMaxDims];
  int along[kMaxDims];
  const int count = int(dims.size());
  for (int i = 0; i < count; ++i) {
    const int d = dims[size_t(i)];
    along[i] = i, sizes[i] = out.sizes[d], in_strides[i] = in.strides[d], out_strides[i] = out.strides[d];
  }
  parallel_for(0, slices, std::max<int64_t>(1, kGrain / (8 * slice)), [&](int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number) {
      int64_t from = 0, to = 0, rest = number;
      for (int d = out.ndim - 1; d >= 0; --d) {
        if (is_transformed(d)) continue;
        from += rest % out.sizes[d] * in.strides[d], to += rest % out.sizes[d] * out.strides[d];
        rest /= out.sizes[d];
      }
      const View source{in.as<char>() + from * int64_t(itemsize(in.dtype)), sizes, in_strides, count,
                        in.dtype};
      const View target{out.as<char>() + to * int64_t(itemsize(out.dtype)), sizes, out_strides, count,
                        out.dtype};
      transform(source, target, {along, size_t(count)});
    }
  });
}

void real_fft(const View& in, const View& out, int dim, double scale) {
  check_views(in, out, dim);
  const int64_t n = in.sizes[dim];
  MT_CHECK(out.sizes[dim] == n / 2 + 1, "fft: expected ", n / 2 + 1, " frequencies, got ", out.sizes[dim]);
  if (in.numel() == 0) return;
  dispatch<dtype_set(DType::float32, DType::float64)>(in.dtype, "real_fft", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (n % 2 == 0) even_real_lines<false>(in, out, dim, T(scale));
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
