// Distributions made of uniform and normal numbers.
#include "generated/ops/substitutes/random.h"

#include <cmath>

#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/random.h"
#include "generated/ops/unary.h"

namespace mt::substitutes {
namespace {

constexpr double kHalfTurn = 3.14159265358979323846;

}  // namespace

void cauchy(const Tensor& self, double median, double sigma, Generator* generator) {
  ops::uniform_(self, -kHalfTurn / 2, kHalfTurn / 2, generator);
  ops::copy_(self, ops::add(ops::mul(ops::tan(self), Scalar(sigma)), Scalar(median)));
}

void log_normal(const Tensor& self, double mean, double std, Generator* generator) {
  MT_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  ops::normal_(self, mean, std, generator);
  ops::exp_(self);
}

// How many tries until the first success: the logarithm of what a uniform number leaves, in units of one failure's.
void geometric(const Tensor& self, double p, Generator* generator) {
  MT_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  const DType dtype = is_floating(self.dtype()) ? self.dtype() : DType::float32;
  const Tensor uniform = new_tensor(self.sizes(), dtype, self.device());
  ops::uniform_(uniform, 0, 1, generator);
  const Tensor tries = ops::div(ops::log1p(ops::neg(uniform)), Scalar(std::log1p(-p)));
  ops::copy_(self, ops::clamp_min(ops::ceil(tries), Scalar(1)));
}

}  // namespace mt::substitutes
