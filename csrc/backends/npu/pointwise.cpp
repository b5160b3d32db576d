#include "generated/npu/pointwise.h"

#include "backends/npu/aclnn_call.h"
#include "base/limits.h"

namespace mt::npu {

// Not a cell of the table: aclnnClamp takes absent limits too, so no functor of a family describes it.
void clamp(const Tensor& self, const Scalar& min, const Scalar& max, const Tensor& out) {
  static aclnn::Function<decltype(aclnnClampGetWorkspaceSize)> f("aclnnClamp");
  aclnn::call(f, out.device(), self, min, max, out);
}

// What is not given is the largest finite number of the dtype, which fits a float for all but double.
void nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                std::optional<double> neginf, const Tensor& out) {
  static aclnn::Function<decltype(aclnnNanToNumGetWorkspaceSize)> f("aclnnNanToNum");
  const double limit = largest_finite(self.dtype());
  MT_CHECK_AS(
      not_implemented, self.dtype() != DType::float64 || (posinf && neginf),
      "npu: nan_to_num of float64 needs posinf and neginf, whose defaults are beyond the operator's float");
  aclnn::call(f, out.device(), self, nan.value_or(0.0), posinf.value_or(limit), neginf.value_or(-limit), out);
}

void logit(const Tensor& self, std::optional<double> eps, const Tensor& out) {
  static aclnn::Function<decltype(aclnnLogitGetWorkspaceSize)> f("aclnnLogit");
  aclnn::call(f, out.device(), self, eps.value_or(-1.0), out);
}

void logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps, const Tensor& out) {
  static aclnn::Function<decltype(aclnnLogitGradGetWorkspaceSize)> f("aclnnLogitGrad");
  aclnn::call(f, out.device(), self, grad, eps.value_or(-1.0), out);
}

}  // namespace mt::npu
