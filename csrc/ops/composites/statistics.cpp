// Variances and deviations, as overloads of one kernel each.
#include "generated/ops/composites/statistics.h"

#include "generated/ops/statistics.h"

namespace mt::composites {
namespace {

std::optional<Scalar> correction_for(bool unbiased) { return Scalar(int64_t(unbiased)); }

using Pair = std::tuple<Tensor, Tensor>;

}  // namespace

Tensor var_all(const Tensor& self, bool unbiased) {
  return ops::var(self, DimList(), correction_for(unbiased), false);
}
Tensor var_dim(const Tensor& self, const DimList& dim, bool unbiased, bool keepdim) {
  return ops::var(self, dim, correction_for(unbiased), keepdim);
}
Tensor std_all(const Tensor& self, bool unbiased) {
  return ops::std(self, DimList(), correction_for(unbiased), false);
}
Tensor std_dim(const Tensor& self, const DimList& dim, bool unbiased, bool keepdim) {
  return ops::std(self, dim, correction_for(unbiased), keepdim);
}
Pair var_mean_all(const Tensor& self, bool unbiased) {
  return ops::var_mean(self, DimList(), correction_for(unbiased), false);
}
Pair var_mean_dim(const Tensor& self, const DimList& dim, bool unbiased, bool keepdim) {
  return ops::var_mean(self, dim, correction_for(unbiased), keepdim);
}
Pair std_mean_all(const Tensor& self, bool unbiased) {
  return ops::std_mean(self, DimList(), correction_for(unbiased), false);
}
Pair std_mean_dim(const Tensor& self, const DimList& dim, bool unbiased, bool keepdim) {
  return ops::std_mean(self, dim, correction_for(unbiased), keepdim);
}

}  // namespace mt::composites
