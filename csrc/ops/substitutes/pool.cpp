// Pooling made of gather and scatter.
#include "generated/ops/substitutes/pool.h"

#include <functional>
#include <numeric>

#include "generated/ops/creation.h"
#include "generated/ops/index.h"

namespace mt::substitutes {
namespace {

// The last `spatial` dimensions as one.
Dims flat_planes(IntList sizes, int64_t spatial) {
  const size_t kept = sizes.size() - size_t(spatial);
  Dims result(sizes.first(kept));
  result.push_back(
      std::accumulate(sizes.begin() + int64_t(kept), sizes.end(), int64_t(1), std::multiplies<>()));
  return result;
}
Tensor flat_planes(const Tensor& t, int64_t spatial) { return t.reshape(flat_planes(t.sizes(), spatial)); }

}  // namespace

Tensor plane_scatter(const Tensor& values, const Tensor& indices, IntList size, int64_t spatial,
                     bool accumulate) {
  const Tensor empty = ops::zeros(flat_planes(size, spatial), {values.dtype(), values.device()});
  const Tensor from = flat_planes(values, spatial), to = flat_planes(indices, spatial);
  return (accumulate ? ops::scatter_add(empty, -1, to, from) : ops::scatter(empty, -1, to, from))
      .reshape(size);
}
Tensor plane_gather(const Tensor& self, const Tensor& indices, int64_t spatial) {
  return ops::gather(flat_planes(self, spatial), -1, flat_planes(indices, spatial)).reshape(indices.sizes());
}

Tensor max_pool2d_backward(const Tensor& grad_output, const Tensor& self, IntList, IntList, IntList, IntList,
                           bool, const Tensor& indices) {
  return plane_scatter(grad_output, indices, self.sizes(), 2, true);
}

}  // namespace mt::substitutes
