#include <cstdint>
#include <limits>
#include <vector>

#include "check.h"
#include "kernels/common/cpu_features.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"

using namespace mt;
using namespace mt::kernels;

namespace {

// Distance in units of the last place between a float and the exact value.
double ulps(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  const float nearest = float(exact);
  if (std::isinf(nearest) || nearest == 0.0f)
    return got == nearest ? 0 : std::fabs(double(got) - exact) < 2e-45 ? 1 : 1e9;
  int exponent;
  std::frexp(exact, &exponent);
  return std::fabs(double(got) - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

template <class Op>
void check_accuracy(double (*exact)(double), float low, float high, double limit) {
  constexpr int64_t n = 200000;
  Array<float> in({n}, std::function<float(int64_t)>(
                           [&](int64_t i) { return low + (high - low) * float(i) / float(n - 1); }));
  Array<float> out({n});
  unary<Op>(in.view(), out.view());
  double worst = 0;
  float at = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double distance = ulps(out[i], exact(double(in[i])));
    if (distance > worst) worst = distance, at = in[i];
  }
  if (worst > limit) std::printf("  %s(%.9g) is %.3f ulp off\n", Op::name, at, worst);
  CHECK(worst <= limit);
}

template <class Op>
float at(float x) {
  Array<float> in({1}, x), out({1});
  unary<Op>(in.view(), out.view());
  return out[0];
}

double exact_sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST("float elementary functions are within a unit of the last place") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr bool fuses = false;  // at the level of optimization that sanitizers have
#else
  const bool fuses = !kHasLevels || cpu_level > 0;
#endif
  const double one = fuses ? 1 : 2;
  check_accuracy<exp_op>(std::exp, -87.0f, 88.7f, one);
  check_accuracy<exp_op>(std::exp, -104.0f, -87.0f, one);
  check_accuracy<exp_op>(std::exp, -1.0f, 1.0f, one);
  for (const auto& [low, high] : {std::pair(1e-3f, 10.0f), {0.5f, 1.5f}, {1.0f, 1e30f}, {0.0f, 1e-37f}}) {
    check_accuracy<log_op>(std::log, low, high, one);
    check_accuracy<log2_op>(std::log2, low, high, one);
    check_accuracy<log10_op>(std::log10, low, high, one);
  }
  check_accuracy<tanh_op>(std::tanh, -10.0f, 10.0f, one);
  check_accuracy<tanh_op>(std::tanh, -1.1f, 1.1f, one);
  check_accuracy<sigmoid_op>(exact_sigmoid, -20.0f, 20.0f, 3);
  check_accuracy<erf_op>(std::erf, -5.0f, 5.0f, one);
  check_accuracy<erf_op>(std::erf, -1.1f, 1.1f, one);
  check_accuracy<expm1_op>(std::expm1, -20.0f, 80.0f, 1);
  check_accuracy<expm1_op>(std::expm1, -0.01f, 0.01f, 1);
  check_accuracy<log1p_op>(std::log1p, -0.99f, 100.0f, 1);
  check_accuracy<log1p_op>(std::log1p, -0.3f, 0.5f, 1);
  check_accuracy<log1p_op>(std::log1p, -1e-6f, 1e-6f, 1);
  check_accuracy<sinh_op>(std::sinh, -20.0f, 20.0f, 1);
  check_accuracy<sinh_op>(std::sinh, -0.6f, 0.6f, 1);
  check_accuracy<cosh_op>(std::cosh, -88.0f, 88.0f, 1);
  for (const float range : {1.6f, 100.0f, 9999.0f}) {
    check_accuracy<tan_op>(std::tan, -range, range, one);
    check_accuracy<sin_op>(std::sin, -range, range, 1);
    check_accuracy<cos_op>(std::cos, -range, range, 1);
  }
  check_accuracy<asin_op>(std::asin, -1.0f, 1.0f, one);
  check_accuracy<acos_op>(std::acos, -1.0f, 1.0f, one);
  check_accuracy<atan_op>(std::atan, -0.95f, 0.95f, one);
  check_accuracy<atan_op>(std::atan, -50.0f, 50.0f, one);
}

TEST("float elementary functions are right for zeros, infinities, NaN and overflow") {
  CHECK(at<exp_op>(0.0f) == 1.0f);
  CHECK(at<exp_op>(kInf) == kInf && at<exp_op>(1000.0f) == kInf && at<exp_op>(88.73f) == kInf);
  CHECK(at<exp_op>(-kInf) == 0.0f && at<exp_op>(-1000.0f) == 0.0f);
  CHECK(std::isnan(at<exp_op>(kNan)));
  CHECK(at<log_op>(1.0f) == 0.0f && at<log_op>(0.0f) == -kInf && at<log_op>(-0.0f) == -kInf &&
        at<log_op>(kInf) == kInf);
  CHECK(std::isnan(at<log_op>(-1.0f)) && std::isnan(at<log_op>(kNan)) && std::isnan(at<log_op>(-kInf)));
  CHECK(at<tanh_op>(kInf) == 1.0f && at<tanh_op>(-kInf) == -1.0f && std::isnan(at<tanh_op>(kNan)));
  CHECK(at<tanh_op>(-0.0f) == 0.0f && std::signbit(at<tanh_op>(-0.0f)));
  CHECK(at<sigmoid_op>(kInf) == 1.0f && at<sigmoid_op>(-kInf) == 0.0f && std::isnan(at<sigmoid_op>(kNan)));
  CHECK(at<erf_op>(kInf) == 1.0f && at<erf_op>(-kInf) == -1.0f && std::isnan(at<erf_op>(kNan)) &&
        at<erf_op>(0.0f) == 0.0f);
  CHECK(at<expm1_op>(kInf) == kInf && at<expm1_op>(-kInf) == -1.0f && std::isnan(at<expm1_op>(kNan)) &&
        at<expm1_op>(100.0f) == kInf);
  CHECK(at<log1p_op>(kInf) == kInf && at<log1p_op>(-1.0f) == -kInf && std::isnan(at<log1p_op>(-2.0f)) &&
        std::isnan(at<log1p_op>(kNan)));
  CHECK(at<log1p_op>(1e-30f) == 1e-30f && at<expm1_op>(1e-30f) == 1e-30f);
  for (const float zero : {at<sin_op>(-0.0f), at<tan_op>(-0.0f), at<atan_op>(-0.0f), at<asin_op>(-0.0f),
                           at<erf_op>(-0.0f), at<expm1_op>(-0.0f), at<log1p_op>(-0.0f)})
    CHECK(zero == 0.0f && std::signbit(zero));
  CHECK(at<atan_op>(kInf) == 1.57079637f && at<atan_op>(-1e38f) == -1.57079637f &&
        std::isnan(at<atan_op>(kNan)));
  CHECK(std::isnan(at<asin_op>(1.001f)) && std::isnan(at<acos_op>(-1.001f)) && at<acos_op>(1.0f) == 0.0f &&
        at<acos_op>(-1.0f) == 3.14159274f && at<asin_op>(1.0f) == 1.57079637f);
  CHECK(std::isnan(at<sin_op>(kInf)) && std::isnan(at<cos_op>(kNan)) && at<cos_op>(0.0f) == 1.0f);
  CHECK(at<sin_op>(1e30f) == std::sin(1e30f) && at<cos_op>(-3e8f) == std::cos(-3e8f));
  CHECK(at<relu_op>(-2.0f) == 0.0f && std::isnan(at<relu_op>(kNan)));
}

namespace {

// Ordinary numbers of both signs and sizes, and all that is special, in every pair.
std::vector<float> all_kinds_of_numbers() {
  std::vector<float> numbers = {0.0f,  -0.0f,  kInf,    -kInf, kNan,   1.0f,
                                -1.0f, 1e-40f, -1e-40f, 3e38f, -3e38f, 1e-30f};
  for (int i = 0; i < 200; ++i)
    numbers.push_back((i % 2 ? -1.0f : 1.0f) * std::ldexp(1.0f + 0.00731f * float(i), i % 29 - 14));
  return numbers;
}

template <class Op, class Expected>
void check_pairs(const std::vector<float>& numbers, double limit, const Expected& expected) {
  const int64_t n = int64_t(numbers.size());
  double worst = 0;
  for (const float y : numbers) {
    Array<float> a({n}, std::function<float(int64_t)>([&](int64_t i) { return numbers[size_t(i)]; })),
        b({n}, y), out({n});
    binary<Op>(a.view(), b.view(), out.view(), DType::float32);
    for (int64_t i = 0; i < n; ++i) {
      const double exact = expected(a[i], y), distance = ulps(out[i], exact);
      if (distance > limit) std::printf("  %s(%.9g, %.9g) is %.9g\n", Op::name, a[i], y, out[i]);
      worst = std::max(worst, distance);
      if (exact == 0) CHECK(std::signbit(out[i]) == std::signbit(exact));
    }
  }
  CHECK(worst <= limit);
}

}  // namespace

TEST("the angle of any two floats is within two units of the last place") {
  check_pairs<atan2_op>(all_kinds_of_numbers(), 2,
                        [](float y, float x) { return std::atan2(double(y), double(x)); });
}

TEST("remainders of floats are exact, whatever the operands") {
  const std::vector<float> numbers = all_kinds_of_numbers();
  check_pairs<fmod_op>(numbers, 0, [](float a, float b) { return double(std::fmod(a, b)); });
  check_pairs<remainder_op>(numbers, 0, [](float a, float b) { return double(math::remainder(a, b)); });
  check_pairs<floor_divide_op>(numbers, 0, [](float a, float b) { return double(math::floor_divide(a, b)); });
  // Without what is special, so that whole blocks are of the usual kind.
  const std::vector<float> usual(numbers.begin() + 12, numbers.end());
  check_pairs<fmod_op>(usual, 0, [](float a, float b) { return double(std::fmod(a, b)); });
  check_pairs<remainder_op>(usual, 0, [](float a, float b) { return double(math::remainder(a, b)); });
  check_pairs<floor_divide_op>(usual, 0, [](float a, float b) { return double(math::floor_divide(a, b)); });
}

TEST("the same value gives the same result wherever it stands in a row") {
  // The vector body and the scalar rest of a loop must agree, or results would depend on the shape.
  for (int64_t n : {1, 3, 7, 8, 15, 17, 31}) {
    Array<float> in({n}, 1.2345f), out({n});
    unary<exp_op>(in.view(), out.view());
    for (int64_t i = 0; i < n; ++i) CHECK(out[i] == at<exp_op>(1.2345f));
  }
}
