#include "sanitizer/access.h"

#include <algorithm>

namespace softnpu::sanitizer {

Runs::Runs(const Access& access) : length_(uintptr_t(access.itemsize)) {
  uintptr_t begin = uintptr_t(access.address);
  for (size_t i = 0; i < access.sizes.size(); ++i) {
    const int64_t size = access.sizes[i];
    int64_t stride = access.strides[i] * access.itemsize;
    if (size == 0) return;
    if (size == 1 || stride == 0) continue;
    if (stride < 0) {
      begin += uintptr_t((size - 1) * stride);
      stride = -stride;
    }
    dims_.push_back({stride, size});
  }
  std::sort(dims_.begin(), dims_.end(), [](const Dim& a, const Dim& b) { return a.stride < b.stride; });
  uintptr_t reach = length_;
  for (const Dim& dim : dims_) reach += uintptr_t((dim.size - 1) * dim.stride);
  // A dimension whose steps leave no gap (they may overlap) only makes the run longer.
  size_t dense = 0;
  while (dense < dims_.size() && uintptr_t(dims_[dense].stride) <= length_) {
    length_ += uintptr_t((dims_[dense].size - 1) * dims_[dense].stride);
    ++dense;
  }
  dims_.erase(dims_.begin(), dims_.begin() + std::ptrdiff_t(dense));
  count_ = 1;
  for (const Dim& dim : dims_) count_ *= uint64_t(dim.size);
  span_ = {begin, begin + reach};
}

}  // namespace softnpu::sanitizer
