// QR factors of real matrices by halves; see Note [Factors by halves].
//
// The product of k reflections is I - v t v^T: v has a column for each, with ones on its diagonal and zeros above, and t is
// an upper triangle. Those of two halves join by products of matrices, and so does what they do to other columns.
#pragma once

#include "kernels/common/rows.h"
#include "kernels/linalg/factors.h"

namespace mt::kernels::linalg {

// The factors of a few columns, and their t, of as many rows as columns.
template <class T> struct ReflectPanel {
  [[gnu::always_inline]] static inline void run(int64_t m, int64_t n, T* a, T* tau, T* t, bool* fits) {
    *fits = SmallReflections<T>::run(m, n, a, m, tau);
    if (!*fits) return;
    for (int64_t j = 0; j < n; ++j) {
      const T* own = a + j * m;
      T along[kPanel];
      for (int64_t i = 0; i < j; ++i) {
        const T* other = a + i * m;
        along[i] = other[j] + T(sum_of<T>(m - j - 1, [&](int64_t r) __attribute__((always_inline)) {
                     return other[j + 1 + r] * own[j + 1 + r];
                   }));
      }
      for (int64_t i = 0; i < j; ++i) {
        T sum = 0;
        for (int64_t l = i; l < j; ++l) sum += t[i + l * n] * along[l];
        t[i + j * n] = -tau[j] * sum;
      }
      t[j + j * n] = tau[j];
    }
  }
};

// x := Q^T x
template <class T> void reflect_columns(const Block<T>& v, const Block<T>& t, const Block<T>& x) {
  ColumnMajor<T> along(v.columns, x.columns, Unset{}), turned(v.columns, x.columns, Unset{});
  add_product(Block<T>(along), v.transposed(), x, 1, 0);
  add_product(Block<T>(turned), t.transposed(), Block<T>(along), 1, 0);
  add_product(x, v, Block<T>(turned), -1, 1);
}

// a := R and, below it, the reflections; v and t, zero before, too. False as SmallReflections says.
template <class T> bool factor_qr(const Block<T>& a, const Block<T>& v, const Block<T>& t, T* tau) {
  const int64_t m = a.rows, n = a.columns;
  if (n > m) {
    if (!factor_qr(a.part(0, 0, m, m), v, t, tau)) return false;
    reflect_columns(v, t, a.part(0, m, m, n - m));
    return true;
  }
  if (n <= kPanel) {
    ColumnMajor<T> panel(m, n, Unset{}), triangle(n, n);
    assign(a, Block<T>(panel));
    bool fits;
    at_level<ReflectPanel<T>, int64_t, int64_t, T*, T*, T*, bool*>(m, n, panel.data(), tau, triangle.data(),
                                                                   &fits);
    if (!fits) return false;
    assign(Block<T>(panel), a);
    assign(Block<T>(triangle), t);
    for (int64_t j = 0; j < n; ++j) {
      v.at(j, j) = T(1);
      for (int64_t i = j + 1; i < m; ++i) v.at(i, j) = panel.at(i, j);
    }
    return true;
  }
  const int64_t half = (n / 2 + kPanel - 1) / kPanel * kPanel, rest = n - half;
  const Block<T> first = v.part(0, 0, m, half), second = v.part(half, half, m - half, rest);
  const Block<T> first_t = t.part(0, 0, half, half), second_t = t.part(half, half, rest, rest);
  if (!factor_qr(a.part(0, 0, m, half), first, first_t, tau)) return false;
  reflect_columns(first, first_t, a.part(0, half, m, rest));
  if (!factor_qr(a.part(half, half, m - half, rest), second, second_t, tau + half)) return false;
  ColumnMajor<T> along(half, rest, Unset{}), turned(half, rest, Unset{});
  add_product(Block<T>(along), v.part(half, 0, m - half, half).transposed(), second, 1, 0);
  add_product(Block<T>(turned), Block<T>(along), second_t, 1, 0);
  add_product(t.part(0, half, half, rest), first_t, Block<T>(turned), -1, 0);
  return true;
}

// q := the first columns of Q.
template <class T> void form_q(const Block<T>& v, const Block<T>& t, const Block<T>& q) {
  ColumnMajor<T> turned(t.rows, q.columns, Unset{});
  add_product(Block<T>(turned), t, v.part(0, 0, q.columns, v.columns).transposed(), 1, 0);
  set_identity(q);
  add_product(q, v, Block<T>(turned), -1, 1);
}

}  // namespace mt::kernels::linalg
