// What the batched decompositions share: one matrix of a batch, its dense column-major copy, the loop over a batch.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "kernels/common/iterate.h"
#include "kernels/common/parallel.h"
#include "kernels/common/types.h"
#include "kernels/common/view.h"
#include "kernels/openblas/blas.h"
#include "kernels/openblas/lapack.h"

namespace mt::kernels::linalg {

inline constexpr DTypeSet blas_types =
    dtype_set(DType::float32, DType::float64, DType::complex64, DType::complex128);

// The last `dims` dimensions of `view` at place `index` of the batch before them.
inline View element(const View& view, int dims, int64_t index) {
  const int batch = view.ndim - dims;
  int64_t offset = 0;
  for (int d = batch - 1; d > 0; --d) {  // a division takes as long as a small matrix
    offset += index % view.sizes[d] * view.strides[d];
    index /= view.sizes[d];
  }
  if (batch > 0) offset += index * view.strides[0];
  return {view.as<char>() + offset * int64_t(itemsize(view.dtype)), view.sizes + batch, view.strides + batch,
          dims, view.dtype};
}

inline int64_t batch_count(const View& view, int dims) {
  int64_t count = 1;
  for (int d = 0; d < view.ndim - dims; ++d) count *= view.sizes[d];
  return count;
}

inline int small(int64_t size) {
  MT_CHECK(size <= std::numeric_limits<int>::max(), "linalg: LAPACK takes sizes below 2^31, got ", size);
  return int(size);
}

struct Unset {};  // memory that will be written first

// A dense column-major matrix, as LAPACK wants it.
template <class T> class ColumnMajor {
 public:
  ColumnMajor(int64_t rows, int64_t columns, Unset)
      : rows_(small(rows)),
        columns_(small(columns)),
        heap_(count() > kInline ? std::make_unique_for_overwrite<T[]>(count()) : nullptr) {}
  ColumnMajor(int64_t rows, int64_t columns) : ColumnMajor(rows, columns, Unset{}) {
    std::fill_n(data(), count(), T(0));
  }
  explicit ColumnMajor(const View& view) : ColumnMajor(view.sizes[0], view.sizes[1], Unset{}) { load(view); }

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int leading() const { return std::max(1, rows_); }
  T* data() { return heap_ ? heap_.get() : reinterpret_cast<T*>(own_); }
  T& at(int64_t i, int64_t j) { return data()[size_t(i + j * leading())]; }

  // Fills the upper left corner from a view that is no larger than the matrix.
  void load(const View& view) {
    const T* from = view.as<T>();
    T* to = data();
    in_squares(view, [&](int64_t i, int64_t j) {
      to[i + j * leading()] = from[i * view.strides[0] + j * view.strides[1]];
    });
  }
  void store(const View& view) {
    T* to = view.as<T>();
    const T* from = data();
    in_squares(view, [&](int64_t i, int64_t j) {
      to[i * view.strides[0] + j * view.strides[1]] = from[i + j * leading()];
    });
  }

 private:
  // f(i, j) for all, in squares: one side goes across memory, and its lines stay in the cache meanwhile.
  template <class F> static void in_squares(const View& view, const F& f) {
    constexpr int64_t kSide = 16;
    for (int64_t row = 0; row < view.sizes[0]; row += kSide)
      for (int64_t column = 0; column < view.sizes[1]; column += kSide)
        for (int64_t i = row; i < std::min(row + kSide, view.sizes[0]); ++i)
          for (int64_t j = column; j < std::min(column + kSide, view.sizes[1]); ++j) f(i, j);
  }

  size_t count() const { return size_t(std::max(1, rows_)) * size_t(std::max(1, columns_)); }

  static constexpr size_t kInline = 64;  // small ones, of which there are many in a batch, without the heap
  int rows_, columns_;
  std::unique_ptr<T[]> heap_;
  alignas(T) char own_[kInline * sizeof(T)];
};

// Row exchanges, LAPACK's way.
class Pivots {
 public:
  explicit Pivots(int64_t count)
      : size_(size_t(std::max<int64_t>(1, count))), heap_(size_ > kInline ? new int[size_]() : nullptr) {}
  explicit Pivots(const View& view) : Pivots(view.sizes[0]) {
    for (int64_t i = 0; i < view.sizes[0]; ++i) data()[i] = view.as<int32_t>()[i * view.strides[0]];
  }
  int* data() { return heap_ ? heap_.get() : own_; }
  int* begin() { return data(); }
  int* end() { return data() + size_; }
  int& operator[](size_t i) { return data()[i]; }

 private:
  static constexpr size_t kInline = 16;
  size_t size_;
  std::unique_ptr<int[]> heap_;
  int own_[kInline] = {};
};

template <class To, class From> void store_vector(const From* from, const View& to) {
  for (int64_t i = 0; i < to.sizes[0]; ++i) to.as<To>()[i * to.strides[0]] = To(from[i]);
}
template <class T> std::vector<T> load_vector(const View& view) {
  std::vector<T> out(size_t(std::max<int64_t>(1, view.sizes[0])));
  for (int64_t i = 0; i < view.sizes[0]; ++i) out[size_t(i)] = view.as<T>()[i * view.strides[0]];
  return out;
}

// Runs f(i) for every matrix of the batch: small ones are spread over threads, the products of large ones use them all.
inline int64_t work_of(const View& matrix) {
  const int64_t rows = matrix.sizes[matrix.ndim - 2], columns = matrix.sizes[matrix.ndim - 1];
  return rows * columns * std::min(rows, columns);
}
inline bool is_large(const View& matrix) { return work_of(matrix) > int64_t(1) << 20; }
template <class F> void for_each_matrix(int64_t batch, const View& matrix, F&& f) {
  const int64_t of_each = 256;  // what one takes beside its products, as elements of simple work
  const int64_t grain = is_large(matrix) ? batch : kGrain / (work_of(matrix) + of_each);
  parallel_for(0, batch, std::max<int64_t>(1, grain), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}
// The same for an f whose work LAPACK does, which gets all threads of BLAS for a large one. Our own products would suffer
// by that: they call BLAS in each of our threads.
template <class F> void for_each_by_lapack(int64_t batch, const View& matrix, F&& f) {
  std::optional<blas::AllThreads> threads;
  if (is_large(matrix)) threads.emplace();
  for_each_matrix(batch, matrix, f);
}

template <class T> T conjugate(T x) {
  if constexpr (is_complex_v<T>) return std::conj(x);
  else return x;
}

// The other triangle made the mirror image of the one that is read; a hermitian matrix has a real diagonal.
template <class T> void mirror(ColumnMajor<T>& a, bool upper) {
  for (int64_t j = 0; j < a.columns(); ++j) {
    a.at(j, j) = T(std::real(a.at(j, j)));
    for (int64_t i = j + 1; i < a.rows(); ++i) {
      if (upper) a.at(i, j) = conjugate(a.at(j, i));
      else a.at(j, i) = conjugate(a.at(i, j));
    }
  }
}

template <class T> bool all_finite(ColumnMajor<T>& a) {
  for (int64_t i = 0; i < int64_t(a.leading()) * a.columns(); ++i)
    if (!(std::abs(a.data()[i]) <= std::numeric_limits<lapack::real_t<T>>::max())) return false;
  return true;
}

}  // namespace mt::kernels::linalg
