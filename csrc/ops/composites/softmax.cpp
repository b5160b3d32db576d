// Softmax in terms of its kernels.
#include "generated/ops/composites/softmax.h"

#include <limits>

#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/index.h"
#include "generated/ops/reduce.h"
#include "generated/ops/softmax.h"
#include "generated/ops/view.h"

namespace mt::composites {
namespace {

Tensor to_dtype(const Tensor& t, std::optional<DType> dtype) {
  return dtype && *dtype != t.dtype() ? ops::_to_copy(t, dtype) : t;
}

}  // namespace

Tensor softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  if (dtype && *dtype != self.dtype()) return ops::_softmax(ops::_to_copy(self, dtype), dim, false);
  return ops::_softmax(self, dim, false);
}
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  if (dtype && *dtype != self.dtype()) return ops::_log_softmax(ops::_to_copy(self, dtype), dim, false);
  return ops::_log_softmax(self, dim, false);
}

Tensor safe_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  // Rows of nothing but -inf are rows of zeros instead of NaN; they go in as zeros, so that no NaN comes back either.
  const Tensor x = to_dtype(self, dtype);
  const Tensor masked =
      ops::all(ops::eq(ops::detach(x), Scalar(-std::numeric_limits<double>::infinity())), DimList(dim), true);
  return ops::where(masked, Scalar(0), ops::_softmax(ops::where(masked, Scalar(0), x), dim, false));
}

}  // namespace mt::composites
