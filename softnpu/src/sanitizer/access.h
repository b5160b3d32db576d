// The bytes that one argument of an operation touches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/export.h"

namespace softnpu::sanitizer {

struct Access {
  const void* address = nullptr;  // of element [0, 0, ...]
  int64_t itemsize = 1;
  bool write = false;
  const char* argument = nullptr;  // its name in the operator, nullptr for a copy
  std::vector<int64_t> sizes, strides;

  // `height` rows of `width` bytes.
  static Access rows(const void* address, uint64_t width, uint64_t height, uint64_t pitch, bool write) {
    return {address, 1, write, nullptr, {int64_t(height), int64_t(width)}, {int64_t(pitch), 1}};
  }
};

struct Run {
  uintptr_t begin, end;
};

// The access as stretches of contiguous bytes: sorted dimensions, so that a transposed dense tensor is one
// run, and the columns of a matrix are as many as it has rows.
class Runs {
 public:
  explicit Runs(const Access& access);

  bool empty() const { return count_ == 0; }
  uint64_t count() const { return count_; }
  Run span() const { return span_; }

  template <class Visit>
  void for_each(const Visit& visit) const {
    if (count_ != 0) walk(int(dims_.size()) - 1, span_.begin, visit);
  }

 private:
  struct Dim {
    int64_t stride, size;  // bytes, elements
  };

  template <class Visit>
  void walk(int dim, uintptr_t at, const Visit& visit) const {
    if (dim < 0) {
      visit(Run{at, at + length_});
      return;
    }
    const Dim& d = dims_[size_t(dim)];
    for (int64_t i = 0; i < d.size; ++i, at += uintptr_t(d.stride)) walk(dim - 1, at, visit);
  }

  std::vector<Dim> dims_;  // what is left after the inner ones became `length_`
  uintptr_t length_ = 0;
  uint64_t count_ = 0;
  Run span_{0, 0};
};

}  // namespace softnpu::sanitizer
