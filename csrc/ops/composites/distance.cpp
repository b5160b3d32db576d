// Distances in terms of other operators.
#include "generated/ops/composites/distance.h"

#include "autograd/without_history.h"
#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/distance.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "infer/infer.h"

namespace mt::composites {

Tensor _pdist(const Tensor& self, double p) { return ops::_pdist_forward(self, p); }

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const DType dtype = infer::result_type(x1, x2);
  MT_CHECK(is_floating(dtype), "expected common dtype to be floating point, yet common dtype is ",
           info(dtype).legacy);
  const Dims sizes = infer::broadcast(x1.sizes(), x2.sizes());
  const Tensor left = ops::expand(ops::to(x1, dtype), sizes), right = ops::expand(ops::to(x2, dtype), sizes);
  const auto length = [&](const Tensor& x, bool keepdim) {
    const Tensor norm = ops::linalg_vector_norm(x, Scalar(2), DimList(dim), keepdim);
    const autograd::WithoutHistory scope;  // the slope is that of the length, short as it may be
    return std::pair(norm, ops::sub(ops::clamp_min(norm, Scalar(eps)), norm));
  };
  // Divided by one length before and the other after: the product of the two, or of the vectors, could overflow.
  const auto [first, first_lack] = length(left, true);
  const auto [second, second_lack] = length(right, false);
  const Tensor product = ops::mul(ops::div(left, ops::add(first, first_lack)), right);
  return ops::div(ops::sum(product, DimList(dim), false), ops::add(second, second_lack));
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const Tensor difference = ops::add(ops::sub(x1, x2), Scalar(eps));
  const int64_t last = std::max<int64_t>(difference.dim(), 1) - 1;
  return ops::linalg_vector_norm(difference, Scalar(p), DimList(last), keepdim);
}

}  // namespace mt::composites
