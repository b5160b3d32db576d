// A dense tensor with memory of its own: intermediate results of kernels.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/view.h"

namespace mt::kernels {

class Owned {
 public:
  Owned(const int64_t* sizes, int ndim, DType dtype) : sizes_(sizes, sizes + ndim), strides_(size_t(ndim)) {
    int64_t numel = 1;
    for (int i = ndim - 1; i >= 0; --i) {
      strides_[size_t(i)] = numel;
      numel *= sizes[i];
    }
    // Elements of 16 bytes at most: complex128 pieces keep every dtype aligned.
    memory_.reset(new complex128[(size_t(std::max<int64_t>(numel, 1)) * itemsize(dtype) + 15) / 16]);
    view_ = {memory_.get(), sizes_.data(), strides_.data(), ndim, dtype, numel};
  }
  // Shaped like another view.
  Owned(const View& like, DType dtype) : Owned(like.sizes, like.ndim, dtype) {}
  Owned(Owned&&) = default;  // moved vectors keep their memory, which the view points to
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  const View& view() const { return view_; }

 private:
  std::vector<int64_t> sizes_, strides_;
  std::unique_ptr<complex128[]> memory_;
  View view_;
};

// The real numbers of a complex view: its real parts (0) or its imaginary parts (1). `strides` holds the result's
// strides and must outlive it.
inline View part_of(const View& complex, int part, std::vector<int64_t>& strides) {
  strides.assign(complex.strides, complex.strides + complex.ndim);
  for (int64_t& stride : strides) stride *= 2;
  const bool single = complex.dtype == DType::complex64;
  const DType dtype = single ? DType::float32 : DType::float64;
  return {complex.as<char>() + size_t(part) * itemsize(dtype), complex.sizes, strides.data(), complex.ndim,
          dtype};
}

}  // namespace mt::kernels
