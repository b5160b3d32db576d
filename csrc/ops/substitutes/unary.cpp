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

// Reflected to x >= 1/2, raised by six steps, then the asymptotic series.
Tensor trigamma(const Tensor& self) {
  const Tensor given = wide(self), low = ops::lt(given, Scalar(0.5));
  Tensor x = ops::where(low, ops::sub(Scalar(1), given), given);
  Tensor sum = ops::zeros_like(x);
  for (int step = 0; step < 6; ++step) {
    sum = ops::add(sum, ops::reciprocal(ops::mul(x, x)));
    x = ops::add(x, Scalar(1));
  }
  const Tensor inverse = ops::reciprocal(x), square = ops::mul(inverse, inverse);
  Tensor tail = ops::add(ops::mul(square, Scalar(-1.0 / 30)), Scalar(1.0 / 42));  // of the Bernoulli numbers
  tail = ops::add(ops::mul(tail, square), Scalar(-1.0 / 30));
  tail = ops::add(ops::mul(tail, square), Scalar(1.0 / 6));
  tail = ops::mul(ops::mul(tail, square), inverse);
  sum = ops::add(sum, ops::add(ops::add(inverse, ops::mul(square, Scalar(0.5))), tail));
  const Tensor sine = ops::sin(ops::mul(given, Scalar(kPi)));
  const Tensor mirror = ops::div(Scalar(kPi * kPi), ops::mul(sine, sine));
  return ops::where(low, ops::sub(mirror, sum), sum);
}

}  // namespace mt::substitutes
