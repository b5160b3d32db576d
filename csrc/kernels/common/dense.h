// Views brought into dense memory of a wanted type, for kernels whose loops run over plain arrays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/error.h"
#include "kernels/common/copy.h"
#include "kernels/common/iterate.h"
#include "kernels/common/temporary.h"

namespace mt::kernels {

enum class Access { read, write, update };

// The elements of a view in row-major order: the view's own memory where it is that already, else a copy. What was
// written to a copy reaches the view by store().
class Dense {
 public:
  Dense(const View& of, DType dtype, Access access) : original_(of), dense_(of) {
    int64_t numel;
    if (of.dtype == dtype && is_dense(of, numel)) {
      dense_.dense = numel;
      return;
    }
    MT_CHECK(of.ndim <= kMaxDims, "tensors with more than ", kMaxDims, " dimensions are not supported");
    copied_ = true;
    numel = of.numel();
    memory_.reset(new std::max_align_t[size_t(numel) * itemsize(dtype) / sizeof(std::max_align_t) + 1]);
    int64_t stride = 1;
    for (int i = of.ndim - 1; i >= 0; --i) {
      strides_[i] = stride;
      stride *= of.sizes[i];
    }
    dense_ = {memory_.get(), of.sizes, strides_, of.ndim, dtype, numel};
    if (access != Access::write) copy(original_, dense_);
  }
  Dense(const Dense&) = delete;
  Dense& operator=(const Dense&) = delete;

  const View& view() const { return dense_; }
  int64_t numel() const { return dense_.dense; }
  void store() const {
    if (copied_) copy(dense_, original_);
  }

 private:
  View original_, dense_;
  bool copied_ = false;
  std::unique_ptr<std::max_align_t[]> memory_;
  int64_t strides_[kMaxDims];
};

// The same as arrays of C.
template <class C>
class DenseInput {
 public:
  explicit DenseInput(const View& view) : dense_(view, dtype_of<C>, Access::read) {}
  const C* data() const { return dense_.view().template as<const C>(); }
  const C& operator[](int64_t i) const { return data()[i]; }
  int64_t numel() const { return dense_.numel(); }

 private:
  Dense dense_;
};

template <class C>
class DenseOutput {
 public:
  explicit DenseOutput(const View& view, Access access = Access::write) : dense_(view, dtype_of<C>, access) {}
  C* data() const { return dense_.view().template as<C>(); }
  C& operator[](int64_t i) const { return data()[i]; }
  int64_t numel() const { return dense_.numel(); }
  void fill(C value) const { std::fill_n(data(), numel(), value); }
  void store() const { dense_.store(); }

 private:
  Dense dense_;
};

// A view with the sizes of `shape`, its elements repeated where it has fewer; it must broadcast.
class Broadcast {
 public:
  Broadcast(const View& of, const View& shape) : strides_(size_t(shape.ndim), 0) {
    for (int i = 1; i <= of.ndim; ++i)
      if (of.sizes[of.ndim - i] != 1) strides_[size_t(shape.ndim - i)] = of.strides[of.ndim - i];
    view_ = {of.data, shape.sizes, strides_.data(), shape.ndim, of.dtype};
  }
  Broadcast(const Broadcast&) = delete;
  Broadcast& operator=(const Broadcast&) = delete;
  const View& view() const { return view_; }

 private:
  std::vector<int64_t> strides_;
  View view_;
};

// Small vectors of statistics and parameters, in double.
inline std::vector<double> numbers(const View& view) {
  const DenseInput<double> values(view);
  return {values.data(), values.data() + values.numel()};
}
inline std::vector<double> numbers_or(const View* view, int64_t count, double fallback) {
  return view ? numbers(*view) : std::vector<double>(size_t(count), fallback);
}
inline void put_numbers(const std::vector<double>& values, const View* to) {
  if (!to) return;
  const DenseOutput<double> out(*to);
  std::copy_n(values.begin(), out.numel(), out.data());
  out.store();
}

}  // namespace mt::kernels
