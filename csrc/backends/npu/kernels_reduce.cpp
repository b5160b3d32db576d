// Reductions whose ACLNN form differs from PyTorch's.
#include <cmath>

#include "backends/npu/aclnn_call.h"
#include "backends/npu/copy.h"
#include "core/views.h"
#include "generated/npu/kernels.h"

namespace mt::npu {
namespace {

// ACLNN wants a dimension; without one PyTorch means the position in the flattened tensor.
template <class Function>
void arg_reduce(Function& f, const Tensor& self, std::optional<int64_t> dim, bool keepdim,
                const Tensor& out) {
  if (dim && self.dim() > 0) {
    aclnn::call(f, out.device(), self, wrap_dim(*dim, self.dim()), keepdim, out);
    return;
  }
  const int64_t all[] = {self.numel()};
  aclnn::call(f, out.device(), views::view(contiguous(self), all), 0, false, views::view(out, IntList{}));
}

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

void argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim, const Tensor& out) {
  static aclnn::Function<decltype(aclnnArgMaxGetWorkspaceSize)> f("aclnnArgMax");
  arg_reduce(f, self, dim, keepdim, out);
}

void argmin(const Tensor& self, std::optional<int64_t> dim, bool keepdim, const Tensor& out) {
  static aclnn::Function<decltype(aclnnArgMinGetWorkspaceSize)> f("aclnnArgMin");
  arg_reduce(f, self, dim, keepdim, out);
}

// There is one operator for all elements and one for a single dimension; several dimensions go one after the other.
void prod(const Tensor& self, const DimList& dim, bool keepdim, std::optional<DType>, const Tensor& out) {
  static aclnn::Function<decltype(aclnnProdGetWorkspaceSize)> all("aclnnProd");
  static aclnn::Function<decltype(aclnnProdDimGetWorkspaceSize)> one("aclnnProdDim");
  const Dims dims = aclnn::dims(dim, self.dim());
  if (dims.size() == size_t(self.dim())) {
    aclnn::call(all, out.device(), self, out.dtype(), views::view(out, IntList{}));
    return;
  }
  Tensor rest = self;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool last = i + 1 == dims.size();
    Dims shape(rest.sizes());
    shape[size_t(dims[i])] = 1;
    Tensor kept =
        last ? (keepdim ? out : views::view(out, shape)) : new_tensor(shape, out.dtype(), out.device());
    aclnn::call(one, out.device(), rest, dims[i], true, out.dtype(), kept);
    rest = kept;
  }
}

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
