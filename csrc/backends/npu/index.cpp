#include "generated/npu/index.h"

#include <algorithm>

#include "backends/npu/aclnn_call.h"
#include "core/views.h"

namespace mt::npu {
namespace {

// A list cannot leave out an entry: a tensor without elements stands for a dimension that is not indexed.
std::vector<Tensor> without_gaps(const Tensor& self, TensorList indices) {
  std::vector<Tensor> list;
  for (const Tensor& index : indices)
    list.push_back(index.defined() ? index : new_tensor(Dims{0}, DType::int64, self.device()));
  return list;
}

// PyTorch reads places from uint8 as well.
Tensor as_places(const Tensor& index) {
  if (index.dtype() == DType::int64 || index.dtype() == DType::int32) return index;
  const Tensor places = new_tensor(index.sizes(), DType::int64, index.device());
  npu().copy(index, places, false);
  return places;
}

int64_t scatter_code(std::string_view reduce) { return reduce == "multiply" ? 2 : 1; }

int64_t reduce_code(std::string_view reduce) {
  if (reduce == "prod") return 2;
  if (reduce == "amax") return 3;
  if (reduce == "amin") return 4;
  return reduce == "mean" ? 5 : 1;
}

void fill(const Tensor& tensor, const Scalar& value) {
  static aclnn::Function<decltype(aclnnInplaceFillScalarGetWorkspaceSize)> f("aclnnInplaceFillScalar");
  aclnn::call(f, tensor.device(), tensor, value);
}

}  // namespace

void index(const Tensor& self, TensorList indices, const Tensor& out) {
  if (out.numel() == 0) return;
  const std::vector<Tensor> list = without_gaps(self, indices);
  static aclnn::Function<decltype(aclnnIndexGetWorkspaceSize)> f("aclnnIndex");
  aclnn::call(f, out.device(), self, TensorList(list), out);
}

void index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  if (self.numel() == 0 || values.numel() == 0) return;
  for (const Tensor& index : indices)
    if (index.defined() && index.numel() == 0) return;
  const std::vector<Tensor> list = without_gaps(self, indices);
  static aclnn::Function<decltype(aclnnIndexPutImplGetWorkspaceSize)> f("aclnnIndexPutImpl");
  aclnn::call(f, self.device(), self, TensorList(list), values, accumulate, false);
}

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, const Tensor& out) {
  if (out.numel() == 0) return;
  static aclnn::Function<decltype(aclnnGatherGetWorkspaceSize)> f("aclnnGather");
  aclnn::call(f, out.device(), self, dim, as_places(index), out);
}
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, const Tensor& out) {
  static aclnn::Function<decltype(aclnnScatterAddGetWorkspaceSize)> f("aclnnScatterAdd");
  aclnn::call(f, out.device(), self, dim, as_places(index), src, out);
}

void scatter_with(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                  std::string_view reduce, const Tensor& out) {
  static aclnn::Function<decltype(aclnnScatterGetWorkspaceSize)> f("aclnnScatter");
  aclnn::call(f, out.device(), self, dim, index, src, scatter_code(reduce), out);
}
void scatter_value_with(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                        std::string_view reduce, const Tensor& out) {
  static aclnn::Function<decltype(aclnnScatterValueGetWorkspaceSize)> f("aclnnScatterValue");
  aclnn::call(f, out.device(), self, dim, index, value, scatter_code(reduce), out);
}
void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    std::string_view reduce, bool include_self, const Tensor& out) {
  static aclnn::Function<decltype(aclnnScatterReduceGetWorkspaceSize)> f("aclnnScatterReduce");
  aclnn::call(f, out.device(), self, dim, index, src, reduce_code(reduce), include_self, out);
}

void put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate, const Tensor& out) {
  if (!out.same(self)) npu().copy(self, out, false);
  if (index.numel() == 0) return;
  static aclnn::Function<decltype(aclnnInplacePutGetWorkspaceSize)> f("aclnnInplacePut");
  aclnn::call(f, out.device(), out, index, source, accumulate);
}

void nonzero_count(const Tensor& self, const Tensor& out) {
  const Tensor differs = new_tensor(self.sizes(), DType::boolean, self.device());
  static aclnn::Function<decltype(aclnnNeScalarGetWorkspaceSize)> compare("aclnnNeScalar");
  aclnn::call(compare, self.device(), self, Scalar(0), differs);
  const Tensor numbers = new_tensor(self.sizes(), DType::int64, self.device());
  npu().copy(differs, numbers, false);
  const Dims all = aclnn::dims(DimList(), self.dim());
  static aclnn::Function<decltype(aclnnReduceSumGetWorkspaceSize)> sum("aclnnReduceSum");
  aclnn::call(sum, self.device(), numbers, IntList(all), false, DType::int64, out);
}

// The operator wants room for as many as there can be.
void nonzero_static(const Tensor& self, int64_t size, int64_t fill_value, const Tensor& out) {
  if (size == 0 || out.numel() == 0) return;
  const int64_t rows = std::max(size, self.numel());
  const Tensor found = new_tensor(Dims{rows, self.dim()}, DType::int64, self.device());
  fill(found, Scalar(fill_value));
  static aclnn::Function<decltype(aclnnNonzeroGetWorkspaceSize)> f("aclnnNonzero");
  aclnn::call(f, self.device(), self, found);
  npu().copy(views::slice(found, 0, 0, size, 1), out, false);
}

}  // namespace mt::npu
