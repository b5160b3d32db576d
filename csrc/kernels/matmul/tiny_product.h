// Products of matrices that are too small for packing or a call of BLAS, one after the other: a batch has thousands.
#pragma once

#include <algorithm>

#include "kernels/common/arithmetic.h"
#include "kernels/common/levels.h"
#include "kernels/common/types.h"

namespace mt::kernels {

// What a vector of T's is made of: the parts of complex numbers, and integers whose sums wrap.
template <class T> struct LaneOf {
  using type = T;
};
template <class T> struct LaneOf<std::complex<T>> {
  using type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct LaneOf<T> {
  using type = std::make_unsigned_t<T>;
};

// Parts of complex numbers that lie side by side in a vector, the two of each exchanged.
template <class Lanes> [[gnu::always_inline]] inline void exchange_parts(const Lanes& x, Lanes& to) {
  using R = std::remove_cvref_t<decltype(x[0])>;
  if constexpr (sizeof(R) == 4) {
    typedef int32_t Order __attribute__((vector_size(32)));
    to = __builtin_shuffle(x, Order{1, 0, 3, 2, 5, 4, 7, 6});
  } else {
    typedef int64_t Order __attribute__((vector_size(32)));
    to = __builtin_shuffle(x, Order{1, 0, 3, 2});
  }
}

// Matrices of a batch; strides count elements.
template <class T> struct TinyMatrices {
  T* data;
  int64_t next, row_stride, step;
  TinyMatrices transposed() const { return {data, next, step, row_stride}; }
};

// out = alpha * a[m, k] @ b[k, n] + beta * out for `count` of each. With beta == 0, out is not read. Complex rows of b are
// rows of real numbers: what the real and the imaginary part of a factor make of them is added up apart. kBytes: of a vector.
template <class T, int kBytes = 32> struct TinyProducts {
  using R = typename LaneOf<T>::type;
  typedef R Lanes __attribute__((vector_size(kBytes)));
  static constexpr int64_t kParts = is_complex_v<T> ? 2 : 1, kLanes = kBytes / int64_t(sizeof(R)), kRows = 4;
  static constexpr int64_t kRoom = 32768 / int64_t(sizeof(R));

  TinyMatrices<const T> a, b;
  TinyMatrices<T> out;
  int64_t count, m, n, k;
  T alpha, beta;

  // Whether products of this size are worth it: rows of b, with padding, must have room.
  static bool fits(int64_t m, int64_t n, int64_t k) {
    const int64_t work = m * n * k;
    return work <= 512 || (work <= 4096 && std::min({m, n, k}) >= 4);
  }

  static void multiply(TinyProducts products) {
    if (products.n < products.m && products.n * kParts < kLanes) {  // rows of the result had better be long
      const TinyMatrices<const T> left = products.a;
      products.a = products.b.transposed(), products.b = left.transposed();
      products.out = products.out.transposed();
      std::swap(products.m, products.n);
    }
    if constexpr (!is_complex_v<T> && kBytes == 32) {
      using Short = TinyProducts<T, 16>;  // four by four is common
      if (products.n * int64_t(sizeof(R)) <= 16) {
        const Short few{products.a, products.b, products.out,   products.count, products.m,
                        products.n, products.k, products.alpha, products.beta};
        return at_level<Short, const Short*>(&few);
      }
    }
    at_level<TinyProducts, const TinyProducts*>(&products);
  }

  [[gnu::always_inline]] static inline void run(const TinyProducts* p) {
    alignas(64) R block[kRoom];
    const int64_t width = (p->n * kParts + kLanes - 1) / kLanes * kLanes;
    const bool direct = p->b.step == 1 && width == p->n * kParts;
    for (int64_t i = 0; i < p->count; ++i) {
      const T* b = p->b.data + i * p->b.next;
      if (!direct) p->bring_together(b, width, block);
      const R* y = direct ? reinterpret_cast<const R*>(b) : block;
      const int64_t leading = direct ? p->b.row_stride * kParts : width;
      const T* x = p->a.data + i * p->a.next;
      T* z = p->out.data + i * p->out.next;
      for (int64_t row = 0; row < p->m;) {
        const int64_t height = p->m - row >= kRows ? kRows : 1;
        for (int64_t column = 0; column < width; column += kLanes) {
          const T* left = x + row * p->a.row_stride;
          T* to = z + row * p->out.row_stride;
          if (height == kRows) p->template tile<kRows>(left, y + column, leading, to, column / kParts);
          else p->template tile<1>(left, y + column, leading, to, column / kParts);
        }
        row += height;
      }
    }
  }

 private:
  [[gnu::always_inline]] inline void bring_together(const T* from, int64_t width, R* block) const {
    for (int64_t q = 0; q < k; ++q, block += width) {
      const Lanes nothing = {};
      __builtin_memcpy(block + width - kLanes, &nothing, sizeof(Lanes));  // what is left there may be slow
      const R* row = reinterpret_cast<const R*>(from + q * b.row_stride);
      for (int64_t j = 0; j < n; ++j)
        for (int64_t part = 0; part < kParts; ++part)
          block[j * kParts + part] = row[j * b.step * kParts + part];
    }
  }
  template <int64_t kHeight>
  [[gnu::always_inline]] inline void tile(const T* x, const R* y, int64_t leading, T* z,
                                          int64_t column) const {
    Lanes sums[kHeight][kParts] = {};
    for (int64_t q = 0; q < k; ++q) {
      Lanes row;
      __builtin_memcpy(&row, y + q * leading, sizeof(row));
      for (int64_t i = 0; i < kHeight; ++i) {
        const R* factor = reinterpret_cast<const R*>(x + i * a.row_stride + q * a.step);
        for (int64_t part = 0; part < kParts; ++part) sums[i][part] += row * factor[part];
      }
    }
    constexpr int64_t numbers = kLanes / kParts;
    const bool plain = alpha == T(1) && beta == T(0) && out.step == 1 && column + numbers <= n;
    for (int64_t i = 0; i < kHeight; ++i) {
      Lanes value = sums[i][0];
      if constexpr (kParts == 2) {  // what imaginary parts made, times i
        Lanes turned, signs;
        exchange_parts(sums[i][1], turned);
        for (int64_t l = 0; l < kLanes; ++l) signs[l] = l % 2 ? R(1) : R(-1);
        value += turned * signs;
      }
      T* to = z + i * out.row_stride + column * out.step;
      if (plain) {
        __builtin_memcpy(static_cast<void*>(to), &value, sizeof(value));
        continue;
      }
      T each[numbers];
      __builtin_memcpy(static_cast<void*>(each), &value, sizeof(each));
      for (int64_t j = 0; j < std::min(numbers, n - column); ++j) {
        T& target = to[j * out.step];
        const T scaled = math::mul(alpha, each[j]);
        target = beta == T(0) ? scaled : math::add(scaled, math::mul(beta, target));
      }
    }
  }
};

}  // namespace mt::kernels
