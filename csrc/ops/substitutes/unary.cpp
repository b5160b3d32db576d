// Elementwise operators made of others.
#include "generated/ops/substitutes/unary.h"

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/unary.h"
#include "ops/substitutes/common.h"

namespace mt::substitutes {
namespace {

constexpr double kPi = 3.14159265358979323846;

}  // namespace

Tensor deg2rad(const Tensor& self) { return ops::mul(self, Scalar(kPi / 180)); }
Tensor rad2deg(const Tensor& self) { return ops::mul(self, Scalar(180 / kPi)); }

// Reflected to x >= 1/2, raised by ten steps, then the asymptotic series.
Tensor trigamma(const Tensor& self) {
  const Tensor given = is_integral(self.dtype(), true) ? ops::_to_copy(self, default_dtype()) : wide(self);
  const Tensor low = ops::lt(given, Scalar(0.5));
  Tensor x = ops::where(low, ops::sub(Scalar(1), given), given);
  Tensor sum = ops::zeros_like(x);
  for (int step = 0; step < 10; ++step) {
    sum = ops::add(sum, ops::reciprocal(ops::mul(x, x)));
    x = ops::add(x, Scalar(1));
  }
  const Tensor inverse = ops::reciprocal(x), square = ops::mul(inverse, inverse);
  Tensor tail =
      ops::add(ops::mul(square, Scalar(7.0 / 6)), Scalar(-691.0 / 2730));  // of the Bernoulli numbers
  for (const double number : {5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6})
    tail = ops::add(ops::mul(tail, square), Scalar(number));
  tail = ops::mul(ops::mul(tail, square), inverse);
  sum = ops::add(sum, ops::add(ops::add(inverse, ops::mul(square, Scalar(0.5))), tail));
  const Tensor sine = ops::sin(ops::mul(ops::frac(given), Scalar(kPi)));  // exactly zero where it has to be
  const Tensor mirror = ops::div(Scalar(kPi * kPi), ops::mul(sine, sine));
  return ops::where(low, ops::sub(mirror, sum), sum);
}

}  // namespace mt::substitutes
