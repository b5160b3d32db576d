#include "kernels/random/slopes.h"

#include <algorithm>
#include <cmath>

#include "base/exp_sinh.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/special/erf_gamma.h"

namespace mt::kernels {
namespace {

constexpr int64_t kSlopesAtOnce = 64;  // each is more than a hundred exponentials

// The least rate at which an integrand falls that is flat before it falls as exp(-exp(s)): flat for log(1 / size).
double rate_after_plateau(double size) { return 1 / std::max(1.0, 4 - std::log(size)); }

template <class Term>
double integral(double rate, Term&& term) {
  static const ExpSinh rule;
  double sum = 0;
  for (int i = 0; i < ExpSinh::kPoints; ++i) sum += rule.weights[i] * term(rule.nodes[i] / rate);
  return sum / rate;
}

double gamma_slope(double a, double x) {
  if (!(a > 0) || !(x > 0)) return std::isnan(a + x) ? a + x : 0;
  const double log_x = std::log(x);
  if (x >= a) {
    const double rate = x - a + std::max(std::sqrt(x), rate_after_plateau(x)),
                 start = log_x - math::digamma(a);
    return x * integral(rate, [&](double s) { return (start + s) * std::exp(a * s - x * std::expm1(s)); });
  }
  const double rate = a - x + std::min(std::sqrt(x), a), start = math::digamma(a + 1) - log_x;
  return x * integral(rate, [&](double s) {
           return (start + x / a * s * std::exp(-s)) * std::exp(-a * s - x * std::expm1(-s));
         });
}

double dirichlet_slope(double x, double a, double total) {
  const double b = total - a;
  if (!(a > 0) || !(b > 0) || !(x > 0) || !(x < 1)) return std::isnan(b + x) ? b + x : 0;
  const double mean = a / total, curvature = mean * b, log_x = std::log(x);
  const bool up = x >= mean;
  const double flat = std::max(std::sqrt(curvature), rate_after_plateau(curvature));
  const double rate = total * std::abs(x - mean) + std::min(flat, up ? b : a);
  const double whole = math::digamma(total);
  if (up) {
    const double start = log_x - math::digamma(a) + whole;
    return x * integral(rate, [&](double s) {
             const double fallen = s + std::log(x + (1 - x) * std::exp(-s));  // log((1 - x) / (1 - t))
             return (start + s - fallen) * std::exp(a * (s - fallen) - b * fallen);
           });
  }
  const double start = math::digamma(a + 1) - whole - log_x, odds = (b - 1) / a * x / (1 - x);
  return x * integral(rate, [&](double s) {
           const double risen = -std::log1p(x * std::expm1(-s)), moved = -s + risen;  // log(t / x)
           return (start - odds * moved * std::exp(-s)) * std::exp(a * moved + b * risen);
         });
}

}  // namespace

void gamma_slopes(const View& concentrations, const View& samples, const View& out) {
  dispatch<domains::single_double>(out.dtype, "_standard_gamma_grad_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(0, out.numel(), kSlopesAtOnce, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        out.as<T>()[i] = cast<T>(gamma_slope(double(concentrations.as<T>()[i]), double(samples.as<T>()[i])));
    });
  });
}

void dirichlet_slopes(const View& samples, const View& concentrations, const View& totals, const View& out) {
  dispatch<domains::single_double>(out.dtype, "_dirichlet_grad_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(0, out.numel(), kSlopesAtOnce, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        out.as<T>()[i] = cast<T>(dirichlet_slope(
            double(samples.as<T>()[i]), double(concentrations.as<T>()[i]), double(totals.as<T>()[i])));
    });
  });
}

}  // namespace mt::kernels
