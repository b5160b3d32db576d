#include "backends/cuda/dense.h"

#include <algorithm>

#include "core/reach.h"
#include "core/views.h"

namespace mt::cuda {
namespace {

constexpr size_t kMaxWalked = 8;

struct WalkedDim {
  int64_t size;
  std::array<int64_t, kMaxWalked> strides;
};

bool continues(const WalkedDim& inner, const WalkedDim& outer, size_t tensors) {
  for (size_t t = 0; t < tensors; ++t)
    if (outer.strides[t] != inner.strides[t] * inner.size) return false;
  return true;
}

}  // namespace

void* memory(const Tensor& t) {
  if (!t.defined()) return nullptr;
  check_reach(t);
  return t.data();
}

Tensor dense(const Tensor& t) {
  if (!t.defined()) return t;
  check_reach(t);
  return gpu().contiguous(t);
}
Tensor dense(const Tensor& t, DType dtype) { return dense(as_dtype(t, dtype)); }

Tensor as_dtype(const Tensor& t, DType dtype) {
  if (!t.defined() || t.dtype() == dtype) return t;
  const Tensor copy = new_tensor(t.sizes(), dtype, t.device());
  if (t.numel() > 0) gpu().copy_on_device(t, copy);
  return copy;
}

Tensor index_on(const Tensor& index, Device device) {
  if (index.device() == device) return as_index(index);
  const Tensor moved = new_tensor(index.sizes(), index.dtype(), device);
  gpu().copy(index, moved, false);
  return as_index(moved);
}

Tensor with_a_dim(const Tensor& t) { return t.dim() == 0 ? views::unsqueeze(t, 0) : t; }

Tensor numbers_on_device(std::span<const int64_t> numbers, Device device) {
  const int64_t count = int64_t(numbers.size());
  const Tensor here = new_tensor({&count, 1}, DType::int64, {DeviceType::cpu});
  std::ranges::copy(numbers, here.data<int64_t>());
  Tensor there = new_tensor({&count, 1}, DType::int64, device);
  gpu().copy(here, there, false);
  return there;
}
Tensor number_on_device(const Scalar& value, DType dtype, Device device) {
  const Tensor number = new_tensor({}, dtype, device);
  gpu().fill(number, value);
  return number;
}

void check_dtype(kernels::DTypeSet domain, DType dtype, const char* name) {
  if (!kernels::contains(domain, dtype)) [[unlikely]]
    kernels::fail_unsupported(name, dtype);
}

DenseResult::DenseResult(const Tensor& wanted, Before before) : wanted_(wanted), made_(wanted) {
  if (!wanted.defined() || wanted.is_contiguous()) return;
  made_ = before == kept ? dense(wanted) : new_tensor(wanted.sizes(), wanted.dtype(), wanted.device());
}

void DenseResult::finish() const {
  if (!made_.same(wanted_) && made_.numel() > 0) gpu().copy_on_device(made_, wanted_);
}

Walk walk_of(std::initializer_list<Walked> tensors) {
  const Tensor& first = tensors.begin()->tensor;
  MT_CHECK(tensors.size() <= kMaxWalked, "a kernel walks over at most ", kMaxWalked, " tensors");
  std::vector<WalkedDim> dims;
  for (int64_t d = first.dim() - 1; d >= 0; --d)
    if (first.size(d) != 1) dims.push_back({first.size(d), {}});
  size_t at = 0;
  for (const Walked& walked : tensors) {
    walked.places = {};
    if (walked.tensor.defined()) {
      walked.places.data = memory(walked.tensor);
      const Tensor seen = &walked.tensor == &first || std::ranges::equal(walked.tensor.sizes(), first.sizes())
                              ? walked.tensor
                              : views::expand(walked.tensor, first.sizes(), false);
      size_t k = 0;
      for (int64_t d = first.dim() - 1; d >= 0; --d)
        if (first.size(d) != 1) dims[k++].strides[at] = seen.stride(d);
    }
    ++at;
  }
  std::ranges::stable_sort(dims, {}, [](const WalkedDim& dim) { return dim.strides[0]; });
  size_t merged = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (merged && continues(dims[merged - 1], dims[i], tensors.size())) dims[merged - 1].size *= dims[i].size;
    else dims[merged++] = dims[i];
  }
  MT_CHECK(merged <= kMaxShapeDims, "tensors with more than ", kMaxShapeDims,
           " dimensions that cannot be merged are not supported on CUDA; got ", merged);
  Walk walk{};
  walk.count = first.numel();
  walk.dims = int(merged);
  for (size_t d = 0; d < merged; ++d) {
    walk.sizes[d] = dims[d].size;
    size_t t = 0;
    for (const Walked& walked : tensors) walked.places.strides[d] = dims[d].strides[t++];
  }
  return walk;
}

Walk walk_each(const char* name, IntList sizes, std::initializer_list<Walked> tensors) {
  MT_CHECK(sizes.size() <= size_t(kMaxShapeDims), name, ": tensors with more than ", kMaxShapeDims,
           " dimensions are not supported on CUDA; got ", sizes.size());
  Walk walk{};
  walk.count = 1;
  walk.dims = int(sizes.size());
  for (const Walked& walked : tensors) {
    walked.places = {};
    walked.places.data = memory(walked.tensor);
  }
  for (int d = 0; d < walk.dims; ++d) {
    const size_t from = sizes.size() - 1 - size_t(d);
    walk.sizes[d] = sizes[from];
    walk.count *= sizes[from];
    for (const Walked& walked : tensors) walked.places.strides[d] = walked.tensor.strides()[from];
  }
  return walk;
}

Along::Along(const Tensor& t, int64_t dim) {
  if (t.dim() == 0) return;
  const int64_t d = wrap_dim(dim, t.dim());
  for (int64_t i = 0; i < t.dim(); ++i) (i < d ? outer : i == d ? length : inner) *= t.size(i);
}

}  // namespace mt::cuda
