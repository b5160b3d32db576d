// Reductions in terms of others.
#include "generated/ops/composites/reduce.h"

#include "generated/ops/binary.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "infer/checks.h"
#include "infer/infer.h"

namespace mt::composites {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

}  // namespace

Tensor max_all(const Tensor& self) {
  infer::check_max_all(self);
  return ops::amax(self, DimList(), false);
}

Tensor min_all(const Tensor& self) {
  infer::check_min_all(self);
  return ops::amin(self, DimList(), false);
}
Tensor maximum(const Tensor& self, const Tensor& other) { return ops::maximum(self, other); }
Tensor minimum(const Tensor& self, const Tensor& other) { return ops::minimum(self, other); }

Tensor nanmean(const Tensor& self, const DimList& dim, bool keepdim, std::optional<DType> dtype) {
  MT_CHECK(is_differentiable(self.dtype()),
           "nanmean(): expected input to have floating point or complex dtype but got ",
           info(self.dtype()).legacy);
  const Tensor counted =
      ops::sum(ops::logical_not(ops::isnan(ops::detach(self))), dim, keepdim, std::nullopt);
  return ops::div(ops::nansum(self, dim, keepdim, dtype), counted);
}

Pair aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  if (!dim) {
    MT_CHECK(self.numel() != 0,
             "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
    return {ops::amin(self, DimList(), keepdim), ops::amax(self, DimList(), keepdim)};
  }
  const int64_t d = wrap_dim(*dim, self.dim());
  MT_CHECK_AS(index, self.dim() == 0 || self.sizes()[size_t(d)] != 0, "aminmax: Expected reduction dim ", d,
              " to have non-zero size.");
  return {ops::amin(self, DimList(d), keepdim), ops::amax(self, DimList(d), keepdim)};
}

Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  return ops::linalg_vector_norm(ops::sub(self, other), p, DimList(), false, std::nullopt);
}

}  // namespace mt::composites
