#include "generated/infer/statistics.h"

namespace mt::infer {
namespace {

void check_deviation(const char* name, const Tensor& self) {
  MT_CHECK(is_differentiable(self.dtype()), name, " only support floating point and complex dtypes");
}

}  // namespace

void check_std_mean(const Tensor& self, const DimList&, const std::optional<Scalar>&, bool) {
  check_deviation("std_mean", self);
}

void variance(const Tensor& self, const DimList& dim, const std::optional<Scalar>&, bool keepdim,
              Output& out) {
  check_deviation("std and var", self);
  out.prepare(reduced_shape(self.sizes(), dim, keepdim), real_type(self.dtype()), self.device());
}

void variance_and_mean(const Tensor& self, const DimList& dim, const std::optional<Scalar>&, bool keepdim,
                       Output& variance, Output& mean) {
  check_deviation("var_mean", self);
  const Dims sizes = reduced_shape(self.sizes(), dim, keepdim);
  variance.prepare(sizes, real_type(self.dtype()), self.device());
  mean.prepare(sizes, self.dtype(), self.device());
}

}  // namespace mt::infer
