// A view with a shape of its own: parts, mirror images and repetitions of a tensor without copying.
#pragma once

#include <algorithm>

#include "base/error.h"
#include "kernels/common/iterate.h"

namespace mt::kernels {

class Window {
 public:
  explicit Window(const View& of) : view_(of) {
    MT_CHECK(of.ndim <= kMaxDims, "tensors with more than ", kMaxDims, " dimensions are not supported");
    std::copy_n(of.sizes, of.ndim, sizes_);
    std::copy_n(of.strides, of.ndim, strides_);
    adopt();
  }
  Window(const Window& other) : Window(other.view_) {}
  Window& operator=(const Window& other) {
    view_ = other.view_;
    std::copy_n(other.sizes_, view_.ndim, sizes_);
    std::copy_n(other.strides_, view_.ndim, strides_);
    adopt();
    return *this;
  }

  const View& view() const { return view_; }
  int64_t size(int dim) const { return sizes_[dim]; }

  // Every `step`-th element from `start` on, `count` of them.
  Window part(int dim, int64_t start, int64_t count, int64_t step = 1) const {
    Window result(*this);
    result.shift(start * strides_[dim]);
    result.sizes_[dim] = count;
    result.strides_[dim] *= step;
    return result;
  }
  Window mirrored(int dim) const {
    Window result(*this);
    if (sizes_[dim] == 0) return result;
    result.shift((sizes_[dim] - 1) * strides_[dim]);
    result.strides_[dim] = -strides_[dim];
    return result;
  }
  // A dimension of size 1 repeated.
  Window repeated(int dim, int64_t count) const {
    Window result(*this);
    result.sizes_[dim] = count;
    result.strides_[dim] = 0;
    return result;
  }
  Window without(int dim, int64_t index) const {
    Window result(*this);
    result.shift(index * strides_[dim]);
    std::copy(sizes_ + dim + 1, sizes_ + view_.ndim, result.sizes_ + dim);
    std::copy(strides_ + dim + 1, strides_ + view_.ndim, result.strides_ + dim);
    --result.view_.ndim;
    return result;
  }

 private:
  void adopt() { view_.sizes = sizes_, view_.strides = strides_, view_.dense = -1; }
  void shift(int64_t elements) { view_.data = view_.as<char>() + elements * int64_t(itemsize(view_.dtype)); }

  int64_t sizes_[kMaxDims], strides_[kMaxDims];
  View view_;
};

}  // namespace mt::kernels
