#include "generated/npu/statistics.h"

#include <algorithm>
#include <cmath>

#include "backends/npu/aclnn_call.h"

namespace mt::npu {
namespace {

// ACLNN takes a whole number for what PyTorch allows to be any: others divide afterwards, by what 0 has not.
struct Correction {
  int64_t whole;
  double factor = 1;  // of the variance

  Correction(const std::optional<Scalar>& correction, const Tensor& self, IntList dims) {
    const double value = correction.value_or(Scalar(1)).to<double>();
    whole = int64_t(value);
    if (double(whole) == value) return;
    whole = 0;
    double count = 1;
    for (int64_t d : dims) count *= double(self.sizes()[size_t(d)]);
    factor = count / std::max(0.0, count - value);
  }
};

void scale(const Tensor& tensor, double factor) {
  if (factor == 1 || tensor.numel() == 0) return;
  static aclnn::Function<decltype(aclnnInplaceMulsGetWorkspaceSize)> f("aclnnInplaceMuls");
  aclnn::call(f, tensor.device(), tensor, Scalar(factor));
}

}  // namespace

void var(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool keepdim,
         const Tensor& out) {
  static aclnn::Function<decltype(aclnnVarCorrectionGetWorkspaceSize)> f("aclnnVarCorrection");
  const Dims dims = aclnn::dims(dim, self.dim());
  const Correction less(correction, self, dims);
  aclnn::call(f, out.device(), self, dims, less.whole, keepdim, out);
  scale(out, less.factor);
}
void std_dev(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool keepdim,
             const Tensor& out) {
  static aclnn::Function<decltype(aclnnStdGetWorkspaceSize)> f("aclnnStd");
  const Dims dims = aclnn::dims(dim, self.dim());
  const Correction less(correction, self, dims);
  aclnn::call(f, out.device(), self, dims, less.whole, keepdim, out);
  scale(out, std::sqrt(less.factor));
}
void var_mean(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool keepdim,
              const Tensor& out, const Tensor& mean) {
  static aclnn::Function<decltype(aclnnVarMeanGetWorkspaceSize)> f("aclnnVarMean");
  const Dims dims = aclnn::dims(dim, self.dim());
  const Correction less(correction, self, dims);
  aclnn::call(f, out.device(), self, dims, less.whole, keepdim, out, mean);
  scale(out, less.factor);
}
void std_mean(const Tensor& self, const DimList& dim, const std::optional<Scalar>& correction, bool keepdim,
              const Tensor& out, const Tensor& mean) {
  static aclnn::Function<decltype(aclnnStdMeanCorrectionGetWorkspaceSize)> f("aclnnStdMeanCorrection");
  const Dims dims = aclnn::dims(dim, self.dim());
  const Correction less(correction, self, dims);
  aclnn::call(f, out.device(), self, dims, less.whole, keepdim, out, mean);
  scale(out, std::sqrt(less.factor));
}

}  // namespace mt::npu
