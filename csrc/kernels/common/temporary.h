// A dense tensor with memory of its own, not cleared: intermediate results.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <vector>

#include "kernels/common/view.h"

namespace mt::kernels {

class Temporary {
 public:
  Temporary(const int64_t* sizes, int ndim, DType dtype)
      : sizes_(sizes, sizes + ndim), strides_(size_t(ndim)) {
    int64_t numel = 1;
    for (int i = ndim - 1; i >= 0; --i) {
      strides_[size_t(i)] = numel;
      numel *= sizes[i];
    }
    memory_.reset(new Piece[(size_t(std::max<int64_t>(numel, 1)) * itemsize(dtype) + 15) / 16]);
    view_ = {memory_.get(), sizes_.data(), strides_.data(), ndim, dtype, numel};
  }
  Temporary(std::initializer_list<int64_t> sizes, DType dtype)
      : Temporary(sizes.begin(), int(sizes.size()), dtype) {}
  Temporary(const std::vector<int64_t>& sizes, DType dtype)
      : Temporary(sizes.data(), int(sizes.size()), dtype) {}
  // Shaped like another view.
  Temporary(const View& like, DType dtype) : Temporary(like.sizes, like.ndim, dtype) {}
  Temporary(Temporary&&) = default;  // moved vectors keep their memory, which the view points to
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const View& view() const { return view_; }

 private:
  // As long as the longest element, and aligned for all; without a constructor, which would clear it.
  struct alignas(16) Piece {
    unsigned char bytes[16];
  };
  std::vector<int64_t> sizes_, strides_;
  std::unique_ptr<Piece[]> memory_;
  View view_;
};

}  // namespace mt::kernels
