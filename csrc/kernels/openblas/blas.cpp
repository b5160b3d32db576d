#include "kernels/openblas/blas.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "kernels/common/parallel.h"

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

// One block of a product, on the calling thread.
template <class T>
void block_product(int64_t m, int64_t n, int64_t k, T alpha, Matrix a, Matrix b, T beta, T* c,
                   int64_t leading) {
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

// Note [One pool]
// OpenBLAS runs on the thread that calls it, and a large product is cut into a grid of blocks for the pool of
// common/parallel.h: two pools of threads would take the cores from each other, and OpenBLAS's own wait for one
// another several times per product.
[[maybe_unused]] const bool one_thread = (MT_BLAS(openblas_set_num_threads)(1), true);

struct Grid {
  int64_t rows, columns;
};

// Each block packs its rows of a and its columns of b, so the best grid has the shortest sides.
Grid best_grid(int64_t m, int64_t n, int64_t threads) {
  Grid best{1, threads};
  double shortest = std::numeric_limits<double>::infinity();
  for (int64_t rows = 1; rows <= threads; ++rows) {
    if (threads % rows != 0) continue;
    const double side = double(m) / double(rows) + double(n) / double(threads / rows);
    if (side < shortest) best = {rows, threads / rows}, shortest = side;
  }
  return best;
}

constexpr int64_t kBlockSide = 32;                    // sides are multiples of it: whole tiles of the kernels
constexpr int64_t kWorkPerThread = int64_t(1) << 20;  // multiplications worth waking a thread for

const void* advanced(const Matrix& matrix, int64_t row, int64_t column, size_t size) {
  if (matrix.transposed) std::swap(row, column);
  return static_cast<const char*>(matrix.data) + (row * matrix.leading + column) * int64_t(size);
}

}  // namespace

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, T alpha, Matrix a, Matrix b, T beta, T* c, int64_t leading) {
  const int64_t useful = in_parallel_region() ? 1 : m * n * k / kWorkPerThread;
  const int64_t threads = std::clamp<int64_t>(useful, 1, get_num_threads());
  if (threads == 1) return block_product<T>(m, n, k, alpha, a, b, beta, c, leading);
  const Grid grid = best_grid(m, n, threads);
  const auto side = [](int64_t length, int64_t parts) {
    const int64_t part = (length + parts - 1) / parts;
    return (part + kBlockSide - 1) / kBlockSide * kBlockSide;
  };
  const int64_t height = side(m, grid.rows), width = side(n, grid.columns);
  parallel_for(0, grid.rows * grid.columns, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / grid.columns * height, column = i % grid.columns * width;
      const int64_t rows = std::min(height, m - row), columns = std::min(width, n - column);
      if (rows <= 0 || columns <= 0) continue;
      block_product<T>(rows, columns, k, alpha, {advanced(a, row, 0, sizeof(T)), a.leading, a.transposed},
                       {advanced(b, 0, column, sizeof(T)), b.leading, b.transposed}, beta,
                       c + row * leading + column, leading);
    }
  });
}

template void gemm(int64_t, int64_t, int64_t, float, Matrix, Matrix, float, float*, int64_t);
template void gemm(int64_t, int64_t, int64_t, double, Matrix, Matrix, double, double*, int64_t);
template void gemm(int64_t, int64_t, int64_t, std::complex<float>, Matrix, Matrix, std::complex<float>,
                   std::complex<float>*, int64_t);
template void gemm(int64_t, int64_t, int64_t, std::complex<double>, Matrix, Matrix, std::complex<double>,
                   std::complex<double>*, int64_t);

namespace {
std::mutex users_mutex;
int users = 0;
}  // namespace

AllThreads::AllThreads() {
  std::lock_guard lock(users_mutex);
  if (users++ == 0) MT_BLAS(openblas_set_num_threads)(get_num_threads());
}
AllThreads::~AllThreads() {
  std::lock_guard lock(users_mutex);
  if (--users == 0) MT_BLAS(openblas_set_num_threads)(1);
}

}  // namespace mt::kernels::blas
