#include "infer/matrices.h"

namespace mt::infer {

void check_matrix(const Tensor& a, const char* name, const char* argument) {
  MT_CHECK(a.dim() >= 2, name, ": The input tensor ", argument, " must have at least 2 dimensions.");
}

void check_square(const Tensor& a, const char* name, const char* argument) {
  check_matrix(a, name, argument);
  MT_CHECK(rows_of(a) == columns_of(a), name, ": ", argument,
           " must be batches of square matrices, but they are ", rows_of(a), " by ", columns_of(a),
           " matrices");
}

void check_inexact(const Tensor& a, const char* name, bool low_precision) {
  const DType t = a.dtype();
  MT_CHECK(is_differentiable(t), name, ": Expected a floating point or complex tensor as input. Got ",
           info(t).legacy);
  MT_CHECK(low_precision || itemsize(t) > 2, name, ": Low precision dtypes not supported. Got ",
           info(t).legacy);
}

bool is_vector_side(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 ||
         (a.dim() - 1 == b.dim() && std::ranges::equal(b.sizes(), a.sizes().first(size_t(a.dim() - 1))));
}

}  // namespace mt::infer
