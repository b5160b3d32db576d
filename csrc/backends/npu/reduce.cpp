#include "generated/npu/reduce.h"

#include "backends/npu/aclnn_call.h"
#include "core/views.h"

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
  aclnn::call(f, out.device(), views::view(npu().contiguous(self), all), 0, false,
              views::view(out, IntList{}));
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

}  // namespace mt::npu
