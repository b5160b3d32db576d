// Batches of matrices: their sizes, and checks with PyTorch's wording; `name` is the operator's, "linalg.inv".
#pragma once

#include "infer/infer.h"

namespace mt::infer {

inline int64_t rows_of(const Tensor& a) { return a.sizes()[size_t(a.dim() - 2)]; }
inline int64_t columns_of(const Tensor& a) { return a.sizes()[size_t(a.dim() - 1)]; }
// The dimensions before the matrix.
inline IntList batch_of(const Tensor& a) { return a.sizes().first(size_t(a.dim() - 2)); }
inline Dims with_sizes(IntList batch, std::initializer_list<int64_t> last) {
  Dims sizes(batch);
  for (int64_t size : last) sizes.push_back(size);
  return sizes;
}

void check_matrix(const Tensor& a, const char* name, const char* argument = "A");
void check_square(const Tensor& a, const char* name, const char* argument = "A");
void check_inexact(const Tensor& a, const char* name, bool low_precision = false);
// B has one dimension less than A: a (batch of) vectors on the right-hand side.
bool is_vector_side(const Tensor& a, const Tensor& b);

}  // namespace mt::infer
