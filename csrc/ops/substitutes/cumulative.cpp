// Cumulative sums of exponentials, and sums from the end, made of other operators.
#include "generated/ops/substitutes/cumulative.h"

#include <array>

#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/cumulative.h"
#include "generated/ops/index.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/shape.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"

namespace mt::substitutes {
namespace {

// 0 where a maximum is the larger one's, which may be infinite.
Tensor below(const Tensor& maximum, const Tensor& larger) {
  return ops::where(ops::eq(maximum, larger), Scalar(0), ops::sub(maximum, larger));
}

// Sums over 1, 2, 4, … neighbours of exponentials, relative to the largest one: nothing overflows, and the logarithm
// is taken once.
Tensor log_sums(const Tensor& self, int64_t dim, bool reverse) {
  if (self.dim() == 0) return self;
  const int64_t length = self.size(dim);
  const bool half = self.dtype() == DType::float16 || self.dtype() == DType::bfloat16;
  Tensor maxima = half ? ops::_to_copy(self, DType::float32) : self, sums = ops::ones_like(maxima);
  for (int64_t step = 1; step < length; step *= 2) {
    const auto head = [&](const Tensor& t) { return ops::narrow(t, dim, 0, length - step); };
    const auto tail = [&](const Tensor& t) { return ops::narrow(t, dim, step, length - step); };
    const auto with_rest = [&](const Tensor& both, const Tensor& t) {
      const Tensor rest = ops::narrow(t, dim, reverse ? length - step : 0, step);
      return reverse ? ops::cat(std::array{both, rest}, dim) : ops::cat(std::array{rest, both}, dim);
    };
    const Tensor larger = ops::maximum(head(maxima), tail(maxima));
    const Tensor both = ops::add(ops::mul(head(sums), ops::exp(below(head(maxima), larger))),
                                 ops::mul(tail(sums), ops::exp(below(tail(maxima), larger))));
    sums = with_rest(both, sums);
    maxima = with_rest(larger, maxima);
  }
  return ops::add(maxima, ops::log(sums));
}

}  // namespace

Tensor reverse_cumsum(const Tensor& self, int64_t dim) {
  if (self.dim() == 0) return self;
  const Dims along{dim};
  return ops::flip(ops::cumsum(ops::flip(self, along), dim), along);
}

Tensor logcumsumexp(const Tensor& self, int64_t dim) { return log_sums(self, dim, false); }
Tensor reverse_logcumsumexp(const Tensor& self, int64_t dim) { return log_sums(self, dim, true); }

}  // namespace mt::substitutes
