#include "kernels/random/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/common/iterate.h"
#include "kernels/common/types.h"

namespace mt::kernels {
namespace {

double log_factorial(double k) {
  int sign;
  return lgamma_r(k + 1, &sign);  // lgamma() writes a global
}

// Few events: how many uniform factors the product needs to fall below exp(-rate).
double poisson_by_product(double rate, Mt19937& generator) {
  const double limit = std::exp(-rate);
  double product = generator.uniform_double(), events = 0;
  for (; product > limit; product *= generator.uniform_double()) events += 1;
  return events;
}

// Hörmann's transformed rejection, PTRS (1993).
double poisson_by_rejection(double rate, Mt19937& generator) {
  const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accepted = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = generator.uniform_double() - 0.5, v = generator.uniform_double();
    const double distance = 0.5 - std::abs(u), k = std::floor((2 * a / distance + b) * u + rate + 0.43);
    if (distance >= 0.07 && v <= accepted) return k;
    if (k < 0 || (distance < 0.013 && v > distance)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (distance * distance) + b) <=
        k * log_rate - rate - log_factorial(k))
      return k;
  }
}

double draw_poisson(double rate, Mt19937& generator) {
  MT_CHECK(rate >= 0, "invalid Poisson rate, expected rate to be non-negative");
  if (rate == 0) return 0;
  if (std::isinf(rate)) return rate;
  return rate >= 10 ? poisson_by_rejection(rate, generator) : poisson_by_product(rate, generator);
}

// Binomial numbers: as in PyTorch, what depends on count and p alone is rounded to their type, the rest is double.

// Few successes: sums of the waiting times between them.
template <class T>
T binomial_by_waiting(T count, T p, Mt19937& generator) {
  const T failure = std::log1p(-p);
  double passed = 0;
  T successes = 0;
  while (true) {
    passed += std::ceil(std::log(generator.uniform_double()) / double(failure));
    if (!(passed <= double(count))) return successes;
    successes += 1;
  }
}

// log(k!) less its approximation by Stirling.
double stirling_tail(double k) {
  constexpr double table[] = {0.08106146679532726, 0.04134069595540929, 0.02767792568499834,
                              0.02079067210376509, 0.01664469118982119, 0.01387612882307075,
                              0.01189670994589177, 0.01041126526197209, 0.009255462182712733,
                              0.008330563433362871};
  if (k <= 9) return table[int(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Hörmann's BTRS (1993), for p <= 0.5 and count * p >= 10.
template <class T>
T binomial_by_rejection(T count, T p, Mt19937& generator) {
  const double deviation = std::sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5, accepted = 0.92 - 4.2 / b;
  const double odds = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation, mode = std::floor((count + 1) * p);
  const double n = double(count);
  while (true) {
    const double u = generator.uniform_double() - 0.5, v = generator.uniform_double();
    const double distance = 0.5 - std::abs(u), k = std::floor((2 * a / distance + b) * u + c);
    if (distance >= 0.07 && v <= accepted) return T(k);
    if (k < 0 || k > n) continue;
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (n - mode + 1))) +
                         (n + 1) * std::log((n - mode + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_tail(mode) +
                         stirling_tail(n - mode) - stirling_tail(k) - stirling_tail(n - k);
    if (std::log(v * alpha / (a / (distance * distance) + b)) <= bound) return T(k);
  }
}

template <class T>
T draw_binomial(T count, T p, Mt19937& generator) {
  if (std::isnan(count) || std::isnan(p)) return std::numeric_limits<T>::quiet_NaN();
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1 || std::isinf(count)) return count;
  if (p > T(0.5)) return count - draw_binomial<T>(count, 1 - p, generator);
  return count * p >= 10 ? binomial_by_rejection(count, p, generator)
                         : binomial_by_waiting(count, p, generator);
}

// Marsaglia and Tsang (2000): the cube of a shifted normal number, kept or drawn again. Concentrations below 1 are
// drawn with one more and scaled down.
double draw_gamma(double concentration, Mt19937& generator) {
  double scale = 1;
  if (concentration < 1) {
    if (concentration == 0) return 0;
    scale = std::pow(1 - generator.uniform_double(), 1 / concentration);
    concentration += 1;
  }
  const double d = concentration - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    double x, root;
    do {
      x = generator.normal_double();
      root = 1 + c * x;
    } while (root <= 0);
    const double v = root * root * root, u = 1 - generator.uniform_double(), square = x * x;
    if (u < 1 - 0.0331 * square * square || std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return scale * d * v;
  }
}

// With replacement: where a uniform number falls among the running sums.
template <class T>
void draw_again(const T* weights, int64_t categories, int64_t* out, int64_t samples, Mt19937& generator) {
  using C = compute_t<T>;
  std::vector<C> sums(static_cast<size_t>(categories));
  C sum = 0;
  for (int64_t j = 0; j < categories; ++j) {
    const C w = C(weights[j]);
    MT_CHECK(w >= 0, "invalid multinomial distribution (encountering probability entry < 0)");
    MT_CHECK(std::isfinite(w),
             "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
    sums[size_t(j)] = sum += w;
  }
  MT_CHECK(sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
  for (C& s : sums) s /= sum;
  sums.back() = 1;
  for (int64_t i = 0; i < samples; ++i) {
    const double u = generator.uniform_double();
    out[i] = std::lower_bound(sums.begin(), sums.end(), u, [](C s, double at) { return double(s) < at; }) -
             sums.begin();
  }
}

// Without replacement: weight over an exponential number; the largest of these win, largest first.
template <class T>
void draw_once(const T* weights, const T* races, int64_t categories, int64_t* out, int64_t samples) {
  using C = compute_t<T>;
  std::vector<C> scores(static_cast<size_t>(categories));
  for (size_t j = 0; j < scores.size(); ++j) scores[j] = C(T(C(weights[j]) / C(races[j])));
  std::vector<int64_t> order(static_cast<size_t>(categories));
  std::iota(order.begin(), order.end(), int64_t(0));
  std::partial_sort(order.begin(), order.begin() + samples, order.end(), [&](int64_t a, int64_t b) {
    const C x = scores[size_t(a)], y = scores[size_t(b)];
    return x != y ? x > y : a < b;
  });
  std::copy_n(order.begin(), samples, out);
}

template <class T>
void check_weights(const T* weights, int64_t rows, int64_t categories) {
  using C = compute_t<T>;
  for (int64_t i = 0; i < rows; ++i) {
    C sum = 0;
    for (int64_t j = 0; j < categories; ++j) {
      const C w = C(weights[i * categories + j]);
      MT_CHECK(w >= 0 && std::isfinite(w), "probability tensor contains either `inf`, `nan` or element < 0");
      sum += w;
    }
    MT_CHECK(sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
  }
}

}  // namespace

void poisson(const View& rates, const View& out, Mt19937& generator) {
  dispatch<domains::floating>(out.dtype, "poisson_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t n = out.numel();
    for (int64_t i = 0; i < n; ++i)
      out.as<T>()[i] = cast<T>(draw_poisson(double(rates.as<T>()[i]), generator));
  });
}

void binomial(const View& counts, const View& probabilities, const View& out, Mt19937& generator) {
  dispatch<domains::single_double>(out.dtype, "binomial_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t n = out.numel();
    for (int64_t i = 0; i < n; ++i)
      out.as<T>()[i] = cast<T>(draw_binomial(counts.as<T>()[i], probabilities.as<T>()[i], generator));
  });
}

void standard_gamma(const View& concentrations, const View& out, Mt19937& generator) {
  dispatch<domains::single_double>(out.dtype, "gamma_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t n = out.numel();
    for (int64_t i = 0; i < n; ++i) {
      const T drawn = cast<T>(draw_gamma(double(concentrations.as<T>()[i]), generator));
      out.as<T>()[i] =
          std::max(std::numeric_limits<T>::min(), drawn);  // never 0, whose logarithm is infinite
    }
  });
}

void multinomial(const View& weights, bool replacement, const View& out, Mt19937& generator,
                 bool by_columns) {
  const int64_t rows = weights.sizes[0], categories = weights.sizes[1], samples = out.sizes[1];
  dispatch<domains::floating>(weights.dtype, "multinomial", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* w = weights.as<T>();
    int64_t* drawn = out.as<int64_t>();
    if (replacement && samples > 1) {
      for (int64_t i = 0; i < rows; ++i)
        draw_again(w + i * categories, categories, drawn + i * samples, samples, generator);
      return;
    }
    check_weights(w, rows, categories);
    const auto next = [&] { return cast<T>(-std::log1p(-generator.uniform_double())); };
    std::vector<T> races(static_cast<size_t>(by_columns ? rows * categories : categories));
    if (by_columns)
      for (int64_t j = 0; j < categories; ++j)
        for (int64_t i = 0; i < rows; ++i) races[size_t(i * categories + j)] = next();
    for (int64_t i = 0; i < rows; ++i) {
      if (!by_columns) std::ranges::generate(races, next);
      const T* own = races.data() + (by_columns ? i * categories : 0);
      draw_once(w + i * categories, own, categories, drawn + i * samples, samples);
    }
  });
}

}  // namespace mt::kernels
