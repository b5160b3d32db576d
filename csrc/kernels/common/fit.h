// Evaluation of Chebyshev sums (base/special_fits.h) inside loops that vectorise: no branches, no loops left. Included by
// vector_math.h, whose `select` it needs.
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

// The sum of c(k) T_k(t) for k < N, by Clenshaw's recurrence over the even and over the odd terms, two chains that do not
// wait for each other: both are sums over Chebyshev polynomials of 2 t^2 - 1.
template <size_t N, class Coefficient>
[[gnu::always_inline]] inline double chebyshev_sum(double t, Coefficient c) {
  static_assert(N >= 2);
  constexpr size_t evens = (N + 1) / 2, odds = N / 2;
  const double half_step = 2.0 * t * t - 1.0, step = 2.0 * half_step;
  double even = 0, even_before = 0, odd = 0, odd_before = 0;
  const auto next = [step](double& now, double& before, double term) __attribute__((always_inline)) {
    const double sum = step * now + (term - before);
    before = now;
    now = sum;
  };
  [&]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    (next(even, even_before, c(std::integral_constant<size_t, 2 * (evens - 1 - I)>())), ...);
  }(std::make_index_sequence<evens - 1>());
  [&]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    (next(odd, odd_before, c(std::integral_constant<size_t, 2 * (odds - 1 - I) + 1>())), ...);
  }(std::make_index_sequence<odds>());
  const double of_even = half_step * even + (c(std::integral_constant<size_t, 0>()) - even_before);
  return of_even + t * (odd - odd_before);
}

// The fit `c` at t, as precise as T.
template <class T, const auto& c> [[gnu::always_inline]] inline double fitted(double t) {
  return chebyshev_sum<terms_of<T>(c)>(t, [](auto k) __attribute__((always_inline)) {
    constexpr double term = c[decltype(k)::value];
    return term;
  });
}
// One of two fits.
template <class T, const auto& yes, const auto& no>
[[gnu::always_inline]] inline double fitted_by(bool condition, double t) {
  constexpr size_t count_yes = terms_of<T>(yes), count_no = terms_of<T>(no);
  return chebyshev_sum<(count_yes > count_no ? count_yes : count_no)>(
      t, [condition](auto k) __attribute__((always_inline)) {
        constexpr size_t i = decltype(k)::value;
        constexpr double a = i < count_yes ? yes[i] : 0.0, b = i < count_no ? no[i] : 0.0;
        return select(condition, a, b);
      });
}

}  // namespace mt::kernels::math
