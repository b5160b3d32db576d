// Strided iteration, written once. Several operands are aligned to the first one's shape, dimensions of size
// 1 are dropped, the rest ordered so that the innermost has the smallest strides, neighbours merged where
// every operand allows it; then rows (runs along the innermost dimension) are handed to a function, over
// threads above a grain.
#pragma once

#include <cstdint>

#include "kernels/common/view.h"

namespace mt::kernels {

inline constexpr int kMaxDims = 64;
inline constexpr int kMaxOperands = 5;

struct Plan {
  int ndim;  // at least 1; dimension 0 is the innermost
  int operands;
  int64_t numel;
  char* data[kMaxOperands];
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxOperands][kMaxDims];  // in bytes
};

// Operand 0 (normally the result) gives the shape; the others broadcast to it, aligned at the last dimension.
void make_plan(Plan& plan, const View* const* operands, int count);

// The places of a plan's rows: its dimensions but the innermost. There must be two.
Plan without_innermost(const Plan& plan);

// One row: for operand o, n elements starting at data[o], strides[o] bytes apart.
using RowFunction = void (*)(char* const* data, const int64_t* strides, int64_t n, const void* context);
// In any order.
void for_each_row(const Plan& plan, int64_t grain, RowFunction row, const void* context);
// In the calling thread, in an order that keeps the order along each of the two innermost dimensions.
void for_each_row_here(const Plan& plan, RowFunction row, const void* context);
// The elements [begin, end) of the plan's order, in this order, in the calling thread.
void for_each_row_in(const Plan& plan, int64_t begin, int64_t end, RowFunction row, const void* context);

// Whether elements lie one after the other in row-major order; `numel` receives their number.
inline bool is_dense(const View& view, int64_t& numel) {
  if (view.dense >= 0) [[likely]] {
    numel = view.dense;
    return true;
  }
  int64_t expected = 1;
  for (int i = view.ndim - 1; i >= 0; --i) {
    if (view.sizes[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.sizes[i];
  }
  numel = expected;
  return true;
}

inline bool same_shape(const View& a, const View& b) {
  if (a.ndim != b.ndim) return false;
  for (int i = 0; i < a.ndim; ++i) {
    if (a.sizes[i] != b.sizes[i]) return false;
  }
  return true;
}

// Stack memory for the common small case, heap above; for row buffers.
template <class T, int64_t Inline = 1024>
class Scratch {
 public:
  explicit Scratch(int64_t n) : data_(n <= Inline ? inline_ : new T[n]) {}
  ~Scratch() {
    if (data_ != inline_) delete[] data_;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() { return data_; }
  T& operator[](int64_t i) { return data_[i]; }

 private:
  T inline_[Inline];
  T* data_;
};

}  // namespace mt::kernels
