// Evaluation of Chebyshev sums (base/special_fits.h) inside loops that vectorise: no branches, no loops left. Included by
// vector_math.h, whose `select` and `polynomial` it needs.
#pragma once

#include <cstddef>
#include <utility>

namespace mt::kernels::math {

// How many coefficients a result of type T shows.
template <class T, size_t N> constexpr size_t terms_of(const double (&c)[N]) {
  if (sizeof(T) == sizeof(double)) return N;
  double largest = 0;
  for (double x : c) largest = x > largest ? x : -x > largest ? -x : largest;
  size_t count = N;
  while (count > 2 && c[count - 1] < largest * 0x1p-29 && c[count - 1] > -largest * 0x1p-29) --count;
  return count;
}

// The first N Chebyshev terms as coefficients of powers, N of them: half as many operations, and no chain of them. The fits
// fall fast enough for that to cost no digits. Coefficients of T_k are whole numbers; their products with a term, cut into
// two halves, are exact, and the sums keep what they lose.
template <size_t N> struct Powers {
  double c[N];
};
template <size_t N, const auto& chebyshev> constexpr Powers<N> powers_of() {
  double sum[N] = {}, lost[N] = {}, now[N] = {}, before[N] = {};
  const auto add = [&](size_t i, double x) {
    const double total = sum[i] + x, back = total - sum[i];
    lost[i] += (sum[i] - (total - back)) + (x - back);
    sum[i] = total;
  };
  now[0] = 1;
  for (size_t k = 0; k < N; ++k) {
    const double scaled = chebyshev[k] * 67108865.0, upper = scaled - (scaled - chebyshev[k]);
    for (size_t i = 0; i <= k; ++i) {
      add(i, now[i] * upper);
      add(i, now[i] * (chebyshev[k] - upper));
    }
    for (size_t i = N; i-- > 0;) {  // T_(k+1) = 2 t T_k - T_(k-1), T_1 = t
      const double next = (i > 0 ? (k > 0 ? 2 : 1) * now[i - 1] : 0) - before[i];
      before[i] = now[i];
      now[i] = next;
    }
  }
  Powers<N> out = {};
  for (size_t i = 0; i < N; ++i) out.c[i] = sum[i] + lost[i];
  return out;
}
template <size_t N, const auto& chebyshev> inline constexpr Powers<N> kPowers = powers_of<N, chebyshev>();

// The fit `c` at t, as precise as T.
template <class T, const auto& c> [[gnu::always_inline]] inline double fitted(double t) {
  constexpr size_t count = terms_of<T>(c);
  return [t]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    return polynomial(t, kPowers<count, c>.c[I]...);
  }(std::make_index_sequence<count>());
}
// One of two fits.
template <class T, const auto& yes, const auto& no>
[[gnu::always_inline]] inline double fitted_by(bool condition, double t) {
  constexpr size_t count_yes = terms_of<T>(yes), count_no = terms_of<T>(no);
  constexpr size_t count = count_yes > count_no ? count_yes : count_no;
  return [t, condition]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    return polynomial(
        t, select(condition, I < count_yes ? kPowers<count_yes, yes>.c[I < count_yes ? I : 0] : 0.0,
                  I < count_no ? kPowers<count_no, no>.c[I < count_no ? I : 0] : 0.0)...);
  }(std::make_index_sequence<count>());
}

}  // namespace mt::kernels::math
