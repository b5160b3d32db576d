// Tensors seen as a number of planes (everything but the last few dimensions), each with its own address.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/common/view.h"

namespace mt::kernels {

inline constexpr int kMaxSpatial = 3;

// The last `spatial` dimensions of a view, padded at the front with dimensions of size 1 to three.
struct Planes {
  std::array<int64_t, kMaxSpatial> sizes{1, 1, 1}, strides{0, 0, 0};
  int64_t count = 1;  // planes
  int64_t numel = 1;  // elements of one

  Planes(const View& view, int spatial) : view_(view), leading_(view.ndim - spatial) {
    for (int i = 0; i < leading_; ++i) count *= view.sizes[i];
    for (int i = 0; i < spatial; ++i) {
      const size_t at = size_t(kMaxSpatial - spatial + i);
      sizes[at] = view.sizes[leading_ + i];
      strides[at] = view.strides[leading_ + i];
      numel *= sizes[at];
    }
  }

  // Whether the elements of a plane lie one after the other.
  bool is_dense() const {
    int64_t expected = 1;
    for (size_t d = kMaxSpatial; d-- > 0;) {
      if (sizes[d] != 1 && strides[d] != expected) return false;
      expected *= sizes[d];
    }
    return true;
  }

  // In elements from the view's first one.
  int64_t offset(int64_t plane) const {
    int64_t at = 0;
    for (int i = leading_ - 1; i >= 0; --i) {
      at += plane % view_.sizes[i] * view_.strides[i];
      plane /= view_.sizes[i];
    }
    return at;
  }
  template <class T>
  T* at(int64_t plane) const {
    return view_.as<T>() + offset(plane);
  }

 private:
  const View& view_;
  int leading_;
};

// Calls f(offset) for every element of a plane in row-major order.
template <class F>
void for_each_in_plane(const Planes& planes, F&& f) {
  for (int64_t i = 0; i < planes.sizes[0]; ++i) {
    for (int64_t j = 0; j < planes.sizes[1]; ++j) {
      const int64_t row = i * planes.strides[0] + j * planes.strides[1];
      for (int64_t k = 0; k < planes.sizes[2]; ++k) f(row + k * planes.strides[2]);
    }
  }
}

}  // namespace mt::kernels
