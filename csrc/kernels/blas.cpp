#include "kernels/blas.h"

#include <limits>

#include "base/error.h"

// OpenBLAS as the pip package scipy-openblas32 ships it (names carry a prefix), or a system OpenBLAS with
// MT_BLAS_PLAIN_NAMES defined. The few prototypes are declared here so that no header search is needed.
#ifdef MT_BLAS_PLAIN_NAMES
#define MT_BLAS(name) name
#else
#define MT_BLAS(name) scipy_##name
#endif

extern "C" {
void MT_BLAS(cblas_sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                          const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
void MT_BLAS(cblas_dgemm)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                          const double* a, int lda, const double* b, int ldb, double beta, double* c,
                          int ldc);
void MT_BLAS(cblas_cgemm)(int order, int trans_a, int trans_b, int m, int n, int k, const void* alpha,
                          const void* a, int lda, const void* b, int ldb, const void* beta, void* c, int ldc);
void MT_BLAS(cblas_zgemm)(int order, int trans_a, int trans_b, int m, int n, int k, const void* alpha,
                          const void* a, int lda, const void* b, int ldb, const void* beta, void* c, int ldc);
void MT_BLAS(openblas_set_num_threads)(int count);
}

namespace mt::kernels::blas {
namespace {

constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;

int narrow(int64_t value) {
  MT_CHECK(value <= std::numeric_limits<int>::max(),
           "matrix product: BLAS takes sizes and leading dimensions below "
           "2^31, got ",
           value, "; split the product along that dimension");
  return int(value);
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, Matrix a, Matrix b, T beta, T* c, int64_t leading) {
  const int ta = a.transposed ? kTransposed : kPlain, tb = b.transposed ? kTransposed : kPlain;
  const int im = narrow(m), in = narrow(n), ik = narrow(k);
  const int lda = narrow(a.leading), ldb = narrow(b.leading), ldc = narrow(leading);
  if constexpr (std::is_same_v<T, float>) {
    MT_BLAS(cblas_sgemm)(kRowMajor, ta, tb, im, in, ik, alpha, static_cast<const float*>(a.data), lda,
                         static_cast<const float*>(b.data), ldb, beta, c, ldc);
  } else if constexpr (std::is_same_v<T, double>) {
    MT_BLAS(cblas_dgemm)(kRowMajor, ta, tb, im, in, ik, alpha, static_cast<const double*>(a.data), lda,
                         static_cast<const double*>(b.data), ldb, beta, c, ldc);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    MT_BLAS(cblas_cgemm)(kRowMajor, ta, tb, im, in, ik, &alpha, a.data, lda, b.data, ldb, &beta, c, ldc);
  } else {
    MT_BLAS(cblas_zgemm)(kRowMajor, ta, tb, im, in, ik, &alpha, a.data, lda, b.data, ldb, &beta, c, ldc);
  }
}

template void gemm(int64_t, int64_t, int64_t, float, Matrix, Matrix, float, float*, int64_t);
template void gemm(int64_t, int64_t, int64_t, double, Matrix, Matrix, double, double*, int64_t);
template void gemm(int64_t, int64_t, int64_t, std::complex<float>, Matrix, Matrix, std::complex<float>,
                   std::complex<float>*, int64_t);
template void gemm(int64_t, int64_t, int64_t, std::complex<double>, Matrix, Matrix, std::complex<double>,
                   std::complex<double>*, int64_t);

void set_num_threads(int count) { MT_BLAS(openblas_set_num_threads)(count); }

}  // namespace mt::kernels::blas
