#include "kernels/fft/passes.h"

#include <algorithm>

#include "kernels/common/levels.h"

namespace mt::kernels::fft_passes {
namespace {

#define MT_INLINE [[gnu::always_inline]] inline

template <class T>
struct Number {
  T re, im;
  MT_INLINE Number operator+(Number o) const { return {re + o.re, im + o.im}; }
  MT_INLINE Number operator-(Number o) const { return {re - o.re, im - o.im}; }
  MT_INLINE Number operator*(T s) const { return {re * s, im * s}; }
  MT_INLINE Number times(T c, T s) const { return {re * c - im * s, re * s + im * c}; }
  MT_INLINE Number clockwise() const { return {im, -re}; }  // times -i
};

// The small transforms, in place.
template <class T> MT_INLINE void butterfly(Number<T> (&x)[2]) {
  const Number<T> a = x[0], b = x[1];
  x[0] = a + b, x[1] = a - b;
}
template <class T> MT_INLINE void butterfly(Number<T> (&x)[3]) {
  constexpr T half_root3 = T(0.86602540378443864676);
  const Number<T> sum = x[1] + x[2], turned = ((x[1] - x[2]) * half_root3).clockwise();
  const Number<T> middle = x[0] - sum * T(0.5);
  x[0] = x[0] + sum, x[1] = middle + turned, x[2] = middle - turned;
}
template <class T> MT_INLINE void butterfly(Number<T> (&x)[4]) {
  const Number<T> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = (x[1] - x[3]).clockwise();
  x[0] = a + c, x[1] = b + d, x[2] = a - c, x[3] = b - d;
}
template <class T> MT_INLINE void butterfly(Number<T> (&x)[5]) {
  constexpr T cos1 = T(0.30901699437494742410), cos2 = T(-0.80901699437494742410);
  constexpr T sin1 = T(0.95105651629515357212), sin2 = T(0.58778525229247312917);
  const Number<T> a = x[1] + x[4], b = x[2] + x[3];
  const Number<T> c = (x[1] - x[4]).clockwise(), d = (x[2] - x[3]).clockwise();
  const Number<T> near = x[0] + a * cos1 + b * cos2, far = x[0] + a * cos2 + b * cos1;
  const Number<T> near_turn = c * sin1 + d * sin2, far_turn = c * sin2 - d * sin1;
  x[0] = x[0] + a + b;
  x[1] = near + near_turn, x[4] = near - near_turn;
  x[2] = far + far_turn, x[3] = far - far_turn;
}
template <class T> MT_INLINE void butterfly(Number<T> (&x)[8]) {
  constexpr T half_root2 = T(0.70710678118654752440);
  Number<T> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
  butterfly(even), butterfly(odd);
  // Times the first three powers of the eighth root.
  const Number<T> a = odd[0], b = Number<T>{odd[1].re + odd[1].im, odd[1].im - odd[1].re} * half_root2,
                  c = odd[2].clockwise(),
                  d = Number<T>{odd[3].im - odd[3].re, -odd[3].re - odd[3].im} * half_root2;
  x[0] = even[0] + a, x[4] = even[0] - a, x[1] = even[1] + b, x[5] = even[1] - b;
  x[2] = even[2] + c, x[6] = even[2] - c, x[3] = even[3] + d, x[7] = even[3] - d;
}
// An odd radix: what is symmetric goes with the cosines of its roots, what is not with the sines.
template <class T, int R> MT_INLINE void butterfly(Number<T> (&x)[R], const T* roots) {
  constexpr int half = R / 2;
  Number<T> sum[half], turned[half], total = x[0];
  for (int j = 0; j < half; ++j) {
    sum[j] = x[j + 1] + x[R - 1 - j], turned[j] = (x[j + 1] - x[R - 1 - j]).clockwise();
    total = total + sum[j];
  }
  Number<T> even[half], odd[half];
  for (int k = 0; k < half; ++k) {
    even[k] = x[0], odd[k] = {0, 0};
    for (int j = 0; j < half; ++j) {
      const int turn = (j + 1) * (k + 1) % R;
      even[k] = even[k] + sum[j] * roots[2 * turn];
      odd[k] = odd[k] - turned[j] * roots[2 * turn + 1];  // the roots' sines are those of -2 pi / R
    }
  }
  x[0] = total;
  for (int k = 0; k < half; ++k) x[k + 1] = even[k] + odd[k], x[R - 1 - k] = even[k] - odd[k];
}
template <class T, int R> MT_INLINE void butterfly_of(Number<T> (&x)[R], const T* roots) {
  if constexpr (R >= 7 && R % 2 == 1) butterfly<T, R>(x, roots);
  else butterfly(x);
}

template <class T, int R, int64_t kStride>
MT_INLINE void pass(const Step<T>& step) {
  const int64_t groups = step.groups, stride = kStride ? kStride : step.stride;
  for (int64_t p = 0; p < groups; ++p) {
    const T *from_re = step.from.re + stride * p, *from_im = step.from.im + stride * p;
    T *to_re = step.to.re + stride * R * p, *to_im = step.to.im + stride * R * p;
    T w[2 * (R - 1)];
    for (int k = 0; k < 2 * (R - 1); ++k) w[k] = step.twiddles[k * groups + p];
#pragma GCC ivdep
    for (int64_t q = 0; q < stride; ++q) {
      Number<T> x[R];
      for (int j = 0; j < R; ++j) x[j] = {from_re[q + stride * groups * j], from_im[q + stride * groups * j]};
      butterfly_of<T, R>(x, step.roots);
      to_re[q] = x[0].re, to_im[q] = x[0].im;
      for (int k = 1; k < R; ++k) {
        const Number<T> y = x[k].times(w[2 * k - 2], w[2 * k - 1]);
        to_re[q + stride * k] = y.re, to_im[q + stride * k] = y.im;
      }
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
    Number<T> x[R];
    for (int j = 0; j < R; ++j) x[j] = {from_re[p + groups * j], from_im[p + groups * j]};
    butterfly_of<T, R>(x, step.roots);
    to_re[R * p] = x[0].re, to_im[R * p] = x[0].im;
    for (int k = 1; k < R; ++k) {
      const Number<T> y = x[k].times(w[(2 * k - 2) * groups + p], w[(2 * k - 1) * groups + p]);
      to_re[R * p + k] = y.re, to_im[R * p + k] = y.im;
    }
  }
}

template <class T, int R>
MT_INLINE void any_pass(const Step<T>& step) {
  if (step.stride == 1) pass_across<T, R>(step);
  else if (step.stride == kFullLanes<T>) pass<T, R, kFullLanes<T>>(step);
  else pass<T, R, 0>(step);
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
          const Number<T> y = Number<T>{re[q], im[q]}.times(c, s);
          to_re[q] += y.re, to_im[q] += y.im;
        }
      }
      if (k == 0) continue;
      const T c = step.twiddles[(2 * k - 2) * groups + p], s = step.twiddles[(2 * k - 1) * groups + p];
#pragma GCC ivdep
      for (int64_t q = 0; q < stride; ++q) {
        const Number<T> y = Number<T>{to_re[q], to_im[q]}.times(c, s);
        to_re[q] = y.re, to_im[q] = y.im;
      }
    }
  }
}

template <class T>
struct AnyPass {
  MT_INLINE static void run(const Step<T>* step) {
    switch (step->radix) {
      case 2: return any_pass<T, 2>(*step);
      case 3: return any_pass<T, 3>(*step);
      case 4: return any_pass<T, 4>(*step);
      case 5: return any_pass<T, 5>(*step);
      case 7: return any_pass<T, 7>(*step);
      case 8: return any_pass<T, 8>(*step);
      case 11: return any_pass<T, 11>(*step);
      case 13: return any_pass<T, 13>(*step);
      default: return plain_pass<T>(*step);
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
    const Number<T> z = Number<T>{x, y}.times(c, s);
    x = z.re, y = z.im;
  }
};

#undef MT_INLINE

}  // namespace

template <class T>
void run(const Step<T>& step) {
  // The widest vectors where rows are made of whole ones: those of early passes over a single signal are too short.
  if (kHasLevels && cpu_level > 1 && step.stride % kFullLanes<T> == 0) AtLevels<AnyPass<T>>::widest(&step);
  else if (kHasLevels && cpu_level > 0) AtLevels<AnyPass<T>>::wide(&step);
  else AtLevels<AnyPass<T>>::base(&step);
}

template <class T>
void multiply(Planes<T> data, const T* re, const T* im, int64_t rows, int64_t lanes) {
  at_level<Product<T>>(data, re, im, rows, lanes);
}

template void run(const Step<float>&);
template void run(const Step<double>&);
template void multiply(Planes<float>, const float*, const float*, int64_t, int64_t);
template void multiply(Planes<double>, const double*, const double*, int64_t, int64_t);

}  // namespace mt::kernels::fft_passes
