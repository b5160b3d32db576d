#include "kernels/fft/passes.h"

#include <algorithm>
#include <utility>

#include "kernels/common/levels.h"

namespace mt::kernels::fft_passes {
namespace {

#define MT_INLINE [[gnu::always_inline]] inline

// kCount numbers side by side.
template <class T, int kCount>
struct SideBySide {
  typedef T type __attribute__((vector_size(kCount * sizeof(T))));
};
template <class T>
struct SideBySide<T, 1> {
  using type = T;
};

// Two vectors exchange blocks of kBlock numbers: the second half of every pair of blocks of the first for the first half
// of the other's.
template <int kBlock, class I, class V, size_t... i>
MT_INLINE void exchange_blocks(V& a, V& b, std::index_sequence<i...>) {
  constexpr int count = sizeof...(i);
  const V first = __builtin_shuffle(a, b, I{(int(i) & kBlock ? count + int(i) - kBlock : int(i))...});
  const V second = __builtin_shuffle(a, b, I{(int(i) & kBlock ? count + int(i) : int(i) + kBlock)...});
  a = first, b = second;
}
// As many vectors as each has numbers: their table turned round, in blocks of half its side, then of half those.
template <int kBlock, class T, int kCount>
MT_INLINE void turn_round(typename SideBySide<T, kCount>::type (&rows)[kCount]) {
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  if constexpr (kBlock > 0) {
#pragma GCC unroll 16
    for (int r = 0; r < kCount; ++r)
      if ((r & kBlock) == 0)
        exchange_blocks<kBlock, typename SideBySide<Index, kCount>::type>(rows[r], rows[r + kBlock],
                                                                          std::make_index_sequence<kCount>());
    turn_round<kBlock / 2, T, kCount>(rows);
  }
}

// Numbers that lie in two vectors as pairs become one vector of the first and one of the second of each, and back.
template <class I, class V, size_t... i>
MT_INLINE void part_pairs(V& a, V& b, std::index_sequence<i...>) {
  const V first = __builtin_shuffle(a, b, I{int(2 * i)...}),
          second = __builtin_shuffle(a, b, I{int(2 * i + 1)...});
  a = first, b = second;
}
template <class I, class V, size_t... i>
MT_INLINE void join_pairs(V& a, V& b, std::index_sequence<i...>) {
  constexpr int count = sizeof...(i);
  const V low = __builtin_shuffle(a, b, I{int(i / 2 + i % 2 * count)...});
  const V high = __builtin_shuffle(a, b, I{int(count / 2 + i / 2 + i % 2 * count)...});
  a = low, b = high;
}

// A complex number, or several side by side; S is what one part is made of.
template <class V, class S>
struct Number {
  V re, im;
  MT_INLINE Number operator+(Number o) const { return {re + o.re, im + o.im}; }
  MT_INLINE Number operator-(Number o) const { return {re - o.re, im - o.im}; }
  MT_INLINE Number operator*(S s) const { return {re * s, im * s}; }
  template <class W> MT_INLINE Number times(W c, W s) const { return {re * c - im * s, re * s + im * c}; }
  MT_INLINE Number clockwise() const { return {im, -re}; }  // times -i

  MT_INLINE static Number load(const S* re, const S* im) {
    Number x;
    __builtin_memcpy(&x.re, re, sizeof(V)), __builtin_memcpy(&x.im, im, sizeof(V));
    return x;
  }
  MT_INLINE void store(S* to_re, S* to_im) const {
    __builtin_memcpy(to_re, &re, sizeof(V)), __builtin_memcpy(to_im, &im, sizeof(V));
  }

  // As pairs, one after the other.
  static constexpr int kCount = sizeof(V) / sizeof(S);
  using Index = typename SideBySide<std::conditional_t<sizeof(S) == 4, int32_t, int64_t>, kCount>::type;
  using Each = std::make_index_sequence<kCount>;
  MT_INLINE static Number load_pairs(const S* at, bool swapped) {
    V a, b;
    __builtin_memcpy(&a, at, sizeof(V)), __builtin_memcpy(&b, at + kCount, sizeof(V));
    part_pairs<Index>(a, b, Each());
    return swapped ? Number{b, a} : Number{a, b};
  }
  MT_INLINE void store_pairs(S* to, bool swapped) const {
    V a = swapped ? im : re, b = swapped ? re : im;
    join_pairs<Index>(a, b, Each());
    __builtin_memcpy(to, &a, sizeof(V)), __builtin_memcpy(to + kCount, &b, sizeof(V));
  }
};

// The small transforms, in place.
template <class V, class S> MT_INLINE void butterfly(Number<V, S> (&x)[2], const S*) {
  const Number<V, S> a = x[0], b = x[1];
  x[0] = a + b, x[1] = a - b;
}
template <class V, class S> MT_INLINE void butterfly(Number<V, S> (&x)[3], const S*) {
  constexpr S half_root3 = S(0.86602540378443864676);
  const Number<V, S> sum = x[1] + x[2], turned = ((x[1] - x[2]) * half_root3).clockwise();
  const Number<V, S> middle = x[0] - sum * S(0.5);
  x[0] = x[0] + sum, x[1] = middle + turned, x[2] = middle - turned;
}
template <class V, class S> MT_INLINE void butterfly(Number<V, S> (&x)[4], const S*) {
  const Number<V, S> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = (x[1] - x[3]).clockwise();
  x[0] = a + c, x[1] = b + d, x[2] = a - c, x[3] = b - d;
}
template <class V, class S> MT_INLINE void butterfly(Number<V, S> (&x)[5], const S*) {
  constexpr S cos1 = S(0.30901699437494742410), cos2 = S(-0.80901699437494742410);
  constexpr S sin1 = S(0.95105651629515357212), sin2 = S(0.58778525229247312917);
  const Number<V, S> a = x[1] + x[4], b = x[2] + x[3];
  const Number<V, S> c = (x[1] - x[4]).clockwise(), d = (x[2] - x[3]).clockwise();
  const Number<V, S> near = x[0] + a * cos1 + b * cos2, far = x[0] + a * cos2 + b * cos1;
  const Number<V, S> near_turn = c * sin1 + d * sin2, far_turn = c * sin2 - d * sin1;
  x[0] = x[0] + a + b;
  x[1] = near + near_turn, x[4] = near - near_turn;
  x[2] = far + far_turn, x[3] = far - far_turn;
}
template <class V, class S> MT_INLINE void butterfly(Number<V, S> (&x)[8], const S* roots) {
  constexpr S half_root2 = S(0.70710678118654752440);
  using N = Number<V, S>;
  N even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
  butterfly(even, roots), butterfly(odd, roots);
  // Times the first three powers of the eighth root.
  const N a = odd[0], b = N{odd[1].re + odd[1].im, odd[1].im - odd[1].re} * half_root2,
          c = odd[2].clockwise(), d = N{odd[3].im - odd[3].re, -odd[3].re - odd[3].im} * half_root2;
  x[0] = even[0] + a, x[4] = even[0] - a, x[1] = even[1] + b, x[5] = even[1] - b;
  x[2] = even[2] + c, x[6] = even[2] - c, x[3] = even[3] + d, x[7] = even[3] - d;
}
template <class V, class S> MT_INLINE void butterfly(Number<V, S> (&x)[16], const S* roots) {
  constexpr S half_root2 = S(0.70710678118654752440);
  constexpr S cos1 = S(0.92387953251128675613), sin1 = S(0.38268343236508977173);  // of an eighth of pi
  using N = Number<V, S>;
  N y[4][4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    y[j][0] = x[j], y[j][1] = x[j + 4], y[j][2] = x[j + 8], y[j][3] = x[j + 12];
    butterfly(y[j], roots);
  }
  const auto eighth = [](N z) { return N{z.re + z.im, z.im - z.re} * half_root2; };
  y[1][1] = y[1][1].times(cos1, -sin1), y[1][2] = eighth(y[1][2]), y[1][3] = y[1][3].times(sin1, -cos1);
  y[2][1] = eighth(y[2][1]), y[2][2] = y[2][2].clockwise(), y[2][3] = eighth(y[2][3].clockwise());
  y[3][1] = y[3][1].times(sin1, -cos1), y[3][2] = eighth(y[3][2].clockwise()),
  y[3][3] = y[3][3].times(-cos1, sin1);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    N z[4] = {y[0][k], y[1][k], y[2][k], y[3][k]};
    butterfly(z, roots);
    x[k] = z[0], x[k + 4] = z[1], x[k + 8] = z[2], x[k + 12] = z[3];
  }
}
// An odd radix: what is symmetric goes with the cosines of its roots, what is not with the sines.
template <class V, class S, int R> MT_INLINE void butterfly(Number<V, S> (&x)[R], const S* roots) {
  constexpr int half = R / 2;
  Number<V, S> sum[half], turned[half], total = x[0];
#pragma GCC unroll 16
  for (int j = 0; j < half; ++j) {
    sum[j] = x[j + 1] + x[R - 1 - j], turned[j] = (x[j + 1] - x[R - 1 - j]).clockwise();
    total = total + sum[j];
  }
#pragma GCC unroll 16
  for (int k = 0; k < half; ++k) {
    Number<V, S> even = x[0] + sum[0] * roots[2 * (k + 1)], odd = turned[0] * -roots[2 * (k + 1) + 1];
#pragma GCC unroll 16
    for (int j = 1; j < half; ++j) {
      const int turn = (j + 1) * (k + 1) % R;
      even = even + sum[j] * roots[2 * turn];
      odd = odd - turned[j] * roots[2 * turn + 1];  // the roots' sines are those of -2 pi / R
    }
    x[k + 1] = even + odd, x[R - 1 - k] = even - odd;
  }
  x[0] = total;
}

// kCount numbers of a row at a time; the last of them again where that is not a whole number of times. kFirst: pairs are
// read. With one group twiddles are 1, and pairs may be written.
template <class T, int R, int kCount, bool kFirst>
MT_INLINE void pass(const Step<T>& step, const Pairs<T>& pairs) {
  using N = Number<typename SideBySide<T, kCount>::type, T>;
  const int64_t groups = step.groups, stride = step.stride;
  const bool last = groups == 1;
  for (int64_t p = 0; p < groups; ++p) {
    const T *from_re = step.from.re + stride * p, *from_im = step.from.im + stride * p;
    T *to_re = step.to.re + stride * R * p, *to_im = step.to.im + stride * R * p;
    T w[2 * (R - 1)];
    for (int k = 0; k < 2 * (R - 1); ++k) w[k] = step.twiddles[k * groups + p];
    for (int64_t next = 0; next < stride; next += kCount) {
      const int64_t q = next + kCount <= stride ? next : stride - kCount;
      N x[R];
#pragma GCC unroll 16
      for (int j = 0; j < R; ++j) {
        if constexpr (kFirst)
          x[j] = N::load_pairs(pairs.in + pairs.in_row * (p + groups * j) + 2 * q, pairs.swapped);
        else x[j] = N::load(from_re + q + stride * groups * j, from_im + q + stride * groups * j);
      }
      butterfly(x, step.roots);
      if (!last) {
#pragma GCC unroll 16
        for (int k = 1; k < R; ++k) x[k] = x[k].times(w[2 * k - 2], w[2 * k - 1]);
      } else if constexpr (kCount > 1) {
        if (pairs.out) {  // a vector has all lanes of a row
#pragma GCC unroll 16
          for (int k = 0; k < R; ++k)
            (x[k] * pairs.scale)
                .store_pairs(pairs.out + (q + stride * k) / kCount * pairs.out_row, pairs.swapped);
          continue;
        }
      }
#pragma GCC unroll 16
      for (int k = 0; k < R; ++k) x[k].store(to_re + q + stride * k, to_im + q + stride * k);
    }
  }
}

// The same with a stride of 1, the first pass over a single signal: the loop runs across groups instead.
template <class T, int R>
MT_INLINE void pass_across(const Step<T>& step) {
  const int64_t groups = step.groups;
  const T *from_re = step.from.re, *from_im = step.from.im, *w = step.twiddles;
  T *to_re = step.to.re, *to_im = step.to.im;
#pragma GCC ivdep
  for (int64_t p = 0; p < groups; ++p) {
    Number<T, T> x[R];
#pragma GCC unroll 16
    for (int j = 0; j < R; ++j) x[j] = {from_re[p + groups * j], from_im[p + groups * j]};
    butterfly(x, step.roots);
    to_re[R * p] = x[0].re, to_im[R * p] = x[0].im;
#pragma GCC unroll 16
    for (int k = 1; k < R; ++k) {
      const Number<T, T> y = x[k].times(w[(2 * k - 2) * groups + p], w[(2 * k - 1) * groups + p]);
      to_re[R * p + k] = y.re, to_im[R * p + k] = y.im;
    }
  }
}

// Only powers of two come first in a transform that reads pairs: see reads_pairs().
template <class T, int R, int kCount>
MT_INLINE void any_pass(const Step<T>& step, const Pairs<T>& pairs) {
  if constexpr (kCount == 1) {
    if (step.stride == 1) return pass_across<T, R>(step);
  } else if constexpr (R % 2 == 0) {
    if (pairs.in) return pass<T, R, kCount, true>(step, pairs);
  }
  pass<T, R, kCount, false>(step, pairs);
}

// Any radix, by the definition: sums grow in `to` one input at a time.
template <class T>
MT_INLINE void plain_pass(const Step<T>& step) {
  const int64_t groups = step.groups, stride = step.stride;
  const int radix = step.radix;
  for (int64_t p = 0; p < groups; ++p) {
    for (int k = 0; k < radix; ++k) {
      T *to_re = step.to.re + stride * (radix * p + k), *to_im = step.to.im + stride * (radix * p + k);
      std::copy_n(step.from.re + stride * p, stride, to_re);
      std::copy_n(step.from.im + stride * p, stride, to_im);
      for (int j = 1; j < radix; ++j) {
        const T *re = step.from.re + stride * (p + j * groups),
                *im = step.from.im + stride * (p + j * groups);
        const T c = step.roots[2 * (j * k % radix)], s = step.roots[2 * (j * k % radix) + 1];
#pragma GCC ivdep
        for (int64_t q = 0; q < stride; ++q) {
          const Number<T, T> y = Number<T, T>{re[q], im[q]}.times(c, s);
          to_re[q] += y.re, to_im[q] += y.im;
        }
      }
      if (k == 0) continue;
      const T c = step.twiddles[(2 * k - 2) * groups + p], s = step.twiddles[(2 * k - 1) * groups + p];
#pragma GCC ivdep
      for (int64_t q = 0; q < stride; ++q) {
        const Number<T, T> y = Number<T, T>{to_re[q], to_im[q]}.times(c, s);
        to_re[q] = y.re, to_im[q] = y.im;
      }
    }
  }
}

template <class T, int kCount>
struct AnyPass {
  MT_INLINE static void run(const Step<T>* step, const Pairs<T>* pairs) {
    switch (step->radix) {
      case 2: return any_pass<T, 2, kCount>(*step, *pairs);
      case 3: return any_pass<T, 3, kCount>(*step, *pairs);
      case 4: return any_pass<T, 4, kCount>(*step, *pairs);
      case 5: return any_pass<T, 5, kCount>(*step, *pairs);
      case 7: return any_pass<T, 7, kCount>(*step, *pairs);
      case 8: return any_pass<T, 8, kCount>(*step, *pairs);
      case 11: return any_pass<T, 11, kCount>(*step, *pairs);
      case 13: return any_pass<T, 13, kCount>(*step, *pairs);
      case 16:  // only with the registers of AVX-512: see radices_of() in plan.cpp
        if constexpr (kHasLevels) return any_pass<T, 16, kCount>(*step, *pairs);
        [[fallthrough]];
      default: return plain_pass<T>(*step);
    }
  }
};

// Rows as many at a time as they are long, turned round in registers; the last of them again where that is not a whole
// number of times.
template <class T, int kCount>
struct RowsPass {
  MT_INLINE static void run(Planes<T> from, Planes<T> to, int64_t rows, const T* re, const T* im,
                            const Pairs<T>* pairs) {
    using V = typename SideBySide<T, kCount>::type;
    using N = Number<V, T>;
    for (int64_t next = 0; next < rows; next += kCount) {
      const int64_t first = next + kCount <= rows ? next : rows - kCount;
      V x[kCount], y[kCount];
#pragma GCC unroll 16
      for (int r = 0; r < kCount; ++r) {
        const int64_t at = (first + r) * kCount;
        const N turn = N::load(re + at, im + at);
        const N z = N::load(from.re + at, from.im + at).times(turn.re, turn.im);
        x[r] = z.re, y[r] = z.im;
      }
      turn_round<kCount / 2, T, kCount>(x), turn_round<kCount / 2, T, kCount>(y);
      N z[kCount];
#pragma GCC unroll 16
      for (int r = 0; r < kCount; ++r) z[r] = {x[r], y[r]};
      butterfly(z, static_cast<const T*>(nullptr));
#pragma GCC unroll 16
      for (int r = 0; r < kCount; ++r) {
        const int64_t at = first + rows * r;
        if (pairs->out) (z[r] * pairs->scale).store_pairs(pairs->out + 2 * at, pairs->swapped);
        else z[r].store(to.re + at, to.im + at);
      }
    }
  }
};

// Rows of one lane run along memory like the lanes of one row.
template <class T>
struct Product {
  MT_INLINE static void run(Planes<T> data, const T* re, const T* im, int64_t rows, int64_t lanes) {
    if (lanes == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < rows; ++i) turn(data.re[i], data.im[i], re[i], im[i]);
      return;
    }
    for (int64_t i = 0; i < rows; ++i) {
      T *x = data.re + i * lanes, *y = data.im + i * lanes;
      const T c = re[i], s = im[i];
#pragma GCC ivdep
      for (int64_t q = 0; q < lanes; ++q) turn(x[q], y[q], c, s);
    }
  }
  MT_INLINE static void turn(T& x, T& y, T c, T s) {
    const Number<T, T> z = Number<T, T>{x, y}.times(c, s);
    x = z.re, y = z.im;
  }
};

#undef MT_INLINE

}  // namespace

template <class T>
void run(const Step<T>& step, const Pairs<T>& pairs) {
  // The widest vectors that a row has numbers for.
  constexpr int widest = 64 / int(sizeof(T)), wide = widest / 2, narrow = widest / 4;
  if (kHasLevels && cpu_level > 1 && step.stride >= widest)
    AtLevels<AnyPass<T, widest>>::widest(&step, &pairs);
  else if (kHasLevels && cpu_level > 0 && step.stride >= wide)
    AtLevels<AnyPass<T, wide>>::wide(&step, &pairs);
  else if (kHasLevels && cpu_level > 0 && step.stride >= narrow)
    AtLevels<AnyPass<T, narrow>>::wide(&step, &pairs);
  else if (kHasLevels && cpu_level > 0) AtLevels<AnyPass<T, 1>>::wide(&step, &pairs);
  else if (step.stride >= narrow) AtLevels<AnyPass<T, narrow>>::base(&step, &pairs);
  else AtLevels<AnyPass<T, 1>>::base(&step, &pairs);
}

template <class T>
bool reads_pairs(int radix, int64_t lanes) {
  return radix % 2 == 0 && lanes >= 16 / int64_t(sizeof(T));
}

template <class T>
int64_t columns() {
  const int bytes = !kHasLevels || cpu_level == 0 ? 16 : cpu_level == 1 ? 32 : 64;
  return bytes / int64_t(sizeof(T));
}

template <class T>
void run_rows(Planes<T> from, Planes<T> to, int64_t rows, const T* re, const T* im, const Pairs<T>& pairs) {
  constexpr int narrow = 16 / int(sizeof(T));
  if (kHasLevels && cpu_level > 1) AtLevels<RowsPass<T, 4 * narrow>>::widest(from, to, rows, re, im, &pairs);
  else if (kHasLevels && cpu_level > 0)
    AtLevels<RowsPass<T, 2 * narrow>>::wide(from, to, rows, re, im, &pairs);
  else AtLevels<RowsPass<T, narrow>>::base(from, to, rows, re, im, &pairs);
}

template <class T>
void multiply(Planes<T> data, const T* re, const T* im, int64_t rows, int64_t lanes) {
  at_level<Product<T>>(data, re, im, rows, lanes);
}

template void run(const Step<float>&, const Pairs<float>&);
template void run(const Step<double>&, const Pairs<double>&);
template bool reads_pairs<float>(int, int64_t);
template bool reads_pairs<double>(int, int64_t);
template int64_t columns<float>();
template int64_t columns<double>();
template void run_rows(Planes<float>, Planes<float>, int64_t, const float*, const float*,
                       const Pairs<float>&);
template void run_rows(Planes<double>, Planes<double>, int64_t, const double*, const double*,
                       const Pairs<double>&);
template void multiply(Planes<float>, const float*, const float*, int64_t, int64_t);
template void multiply(Planes<double>, const double*, const double*, int64_t, int64_t);

}  // namespace mt::kernels::fft_passes
