// The only door to BLAS: row-major matrix products in the four BLAS types.
#pragma once

#include <complex>
#include <cstdint>

namespace mt::kernels::blas {

struct Matrix {
  const void* data;
  int64_t leading;  // distance between rows (columns, if transposed) in elements
  bool transposed;
};

// c[m, n] = alpha * a[m, k] @ b[k, n] + beta * c, all row-major; c's rows are `leading` elements apart.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, Matrix a, Matrix b, T beta, T* c, int64_t leading);

// While it lives, OpenBLAS uses its own threads: for LAPACK, whose loops are not ours to split. See Note [One pool].
class AllThreads {
 public:
  AllThreads();
  ~AllThreads();
  AllThreads(const AllThreads&) = delete;
  AllThreads& operator=(const AllThreads&) = delete;
};

}  // namespace mt::kernels::blas
