#include "generated/cuda/linalg.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cuda/cusolver.h"
#include "backends/cuda/eigenvectors.h"
#include "base/error.h"
#include "core/views.h"
#include "generated/ops/complex_tables.h"
#include "generated/ops/creation_tables.h"
#include "generated/ops/reduce_tables.h"
#include "generated/ops/shape_tables.h"

namespace mt::cuda {
namespace {

using solver::check;
using solver::check_blas;

int64_t rows_of(const Tensor& a) { return a.sizes()[size_t(a.dim() - 2)]; }
int64_t columns_of(const Tensor& a) { return a.sizes()[size_t(a.dim() - 1)]; }
Tensor turned(const Tensor& a) { return views::transpose(a, -2, -1); }

int type_of(DType dtype, const char* name) {
  switch (dtype) {
    case DType::float32: return solver::kFloat32;
    case DType::float64: return solver::kFloat64;
    case DType::complex64: return solver::kComplex64;
    case DType::complex128: return solver::kComplex128;
    default:
      fail(ErrorKind::not_implemented, "\"", name, "_cuda\" not implemented for '", info(dtype).legacy, "'");
  }
}

int real_of(int type) {
  return type == solver::kFloat32 || type == solver::kComplex64 ? solver::kFloat32 : solver::kFloat64;
}

// Of functions by type: S, D, C, Z.
size_t slot_of(int type) {
  return type == solver::kFloat32 ? 0 : type == solver::kFloat64 ? 1 : type == solver::kComplex64 ? 2 : 3;
}

int small(int64_t size) {
  MT_CHECK(size <= INT_MAX, "linalg: cuSOLVER takes sizes up to ", INT_MAX, ", got ", size);
  return int(size);
}

Tensor new_like(const Tensor& like, DType dtype) { return new_tensor(like.sizes(), dtype, like.device()); }

// A batch of matrices by columns: a dense tensor of their transposes.
struct Matrices {
  Tensor data;
  int64_t rows, columns, count;

  Matrices(Tensor transposed)
      : data(std::move(transposed)),
        rows(columns_of(data)),
        columns(rows_of(data)),
        count(rows * columns == 0 ? 0 : data.numel() / (rows * columns)) {}
  int64_t leading() const { return std::max<int64_t>(rows, 1); }
  void* at(int64_t i) const { return data.data<char>() + i * rows * columns * int64_t(data.itemsize()); }
  Tensor as_tensor() const { return turned(data); }
  void store(const Place& place, const Tensor& out) const {
    place.accelerator.copy_on_device(as_tensor(), out);
  }
};

// Many small matrices are given to a library at once, by their addresses; of few or large ones it does each better alone.
bool go_together(const Matrices& a) { return a.count > 1 && a.rows == a.columns && a.rows <= 512; }

// Where the matrices lie, on the device.
class Addresses {
 public:
  explicit Addresses(const Matrices& a) : list_(new_tensor({&a.count, 1}, DType::int64, a.data.device())) {
    const int64_t first = int64_t(reinterpret_cast<uintptr_t>(a.at(0)));
    const int64_t step = int64_t(static_cast<char*>(a.at(1)) - static_cast<char*>(a.at(0)));
    table::_arange.find(list_.device())(Scalar(first), Scalar(first + a.count * step), Scalar(step), list_);
  }
  void** list() const { return reinterpret_cast<void**>(list_.data<int64_t>()); }

 private:
  const Tensor list_;
};

Matrices new_matrices(const Tensor& like, int64_t rows, int64_t columns) {
  Dims sizes(like.sizes());
  sizes[sizes.size() - 2] = columns;
  sizes[sizes.size() - 1] = rows;
  return Matrices(new_tensor(sizes, like.dtype(), like.device()));
}

Matrices by_columns(const Place& place, const Tensor& a) {
  Matrices made = new_matrices(a, rows_of(a), columns_of(a));
  place.accelerator.copy_on_device(turned(a), made.data);
  return made;
}

// `t` in the batch of `like`, with its own last `last` dimensions; `like` has `dims` such.
Tensor in_batch_of(const Tensor& t, int64_t last, const Tensor& like, int64_t dims) {
  Dims sizes(like.sizes().first(size_t(like.dim() - dims)));
  for (int64_t size : t.sizes().last(size_t(last))) sizes.push_back(size);
  return views::expand(t, sizes, true);
}

void fill(const Place& place, const Tensor& to, int value) {
  if (to.numel() == 0) return;
  MT_CHECK(place.accelerator.fill(to, Scalar(value)), info(to.dtype()).name, " tensors cannot be filled on ",
           place.accelerator.title());
}

void make_identity(const Place& place, const Tensor& to) {
  fill(place, to, 0);
  fill(place, views::diagonal(to, 0, -2, -1), 1);
}

// A dense tensor to be written, and its copy to a result that lies otherwise.
class Written {
 public:
  Written(const Place& place, const Tensor& out, DType dtype)
      : place_(place),
        out_(out),
        data_(out.is_contiguous() && out.dtype() == dtype ? out
                                                          : new_tensor(out.sizes(), dtype, out.device())) {}
  void store() const {
    if (!data_.same(out_)) place_.accelerator.copy_on_device(data_, out_);
  }
  template <class T>
  T* data() const {
    return data_.data<T>();
  }
  const Tensor& tensor() const { return data_; }

 private:
  const Place& place_;
  const Tensor& out_;
  const Tensor data_;
};

// Memory on both sides that a function of cuSOLVER's wants.
class Work {
 public:
  Work(const Place& place, size_t device_bytes, size_t host_bytes)
      : device(place, device_bytes), device_bytes(device_bytes), host(host_bytes) {}
  Scratch device;
  size_t device_bytes;
  std::vector<char> host;
};

// What a function reports of each matrix, once it is done.
void check_converged(const Place& place, const Tensor& codes, const char* name, const char* repeated,
                     bool batched) {
  const Tensor here = new_tensor(codes.sizes(), DType::int32, Device{});
  place.accelerator.copy(codes, here, false);
  const int* values = here.data<int>();
  for (int64_t i = 0; i < here.numel(); ++i)
    MT_CHECK_AS(
        linear_algebra, values[i] == 0, name, ": ",
        batched ? join_text("(Batch element ", i, "): ") : std::string(),
        "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
        "repeated ",
        repeated, " (error code: ", values[i], ").");
}

Tensor new_codes(const Place& place, int64_t count) {
  const int64_t sizes[] = {count};
  const Tensor made = new_tensor(sizes, DType::int32, place.device);
  fill(place, made, 0);
  return made;
}

// `pivots`: int64, a list for each matrix; dense.
void factor_lu(const Place& place, const Matrices& a, const Tensor& pivots, int* codes) {
  const int type = type_of(a.data.dtype(), "lu_factor");
  if (go_together(a)) {
    const Addresses addresses(a);
    const Tensor narrow = new_like(pivots, DType::int32);
    enqueue(place, "cublasGetrfBatched", "lu_factor", [&] {
      check_blas(solver::blas_api().lu_together[slot_of(type)](solver::blas_handle(place), small(a.rows),
                                                               addresses.list(), small(a.leading()),
                                                               narrow.data<int>(), codes, small(a.count)),
                 "cublasGetrfBatched");
    });
    return place.accelerator.copy_on_device(narrow, pivots);
  }
  const solver::Session session(place);
  size_t device_bytes = 0, host_bytes = 0;
  check(solver::api().lu_work(session.handle, session.params, a.rows, a.columns, type, a.at(0), a.leading(),
                              type, &device_bytes, &host_bytes),
        "cusolverDnXgetrf_bufferSize");
  Work work(place, device_bytes, host_bytes);
  const int64_t rank = std::min(a.rows, a.columns);
  enqueue(place, "cusolverDnXgetrf", "lu_factor", [&] {
    for (int64_t i = 0; i < a.count; ++i)
      check(solver::api().lu(session.handle, session.params, a.rows, a.columns, type, a.at(i), a.leading(),
                             pivots.data<int64_t>() + i * rank, type, work.device.address(), device_bytes,
                             work.host.data(), host_bytes, codes + i),
            "cusolverDnXgetrf");
  });
}

void solve_lu(const Place& place, const Matrices& lu, const Tensor& pivots, const Matrices& b,
              int operation) {
  const int type = type_of(lu.data.dtype(), "lu_solve");
  if (go_together(lu)) {
    const Addresses factors(lu), sides(b);
    const Tensor narrow = new_like(pivots, DType::int32);
    place.accelerator.copy_on_device(pivots, narrow);
    int wrong = 0;  // a parameter's number, known at once
    enqueue(place, "cublasGetrsBatched", "lu_solve", [&] {
      check_blas(solver::blas_api().lu_solve_together[slot_of(type)](
                     solver::blas_handle(place), operation, small(lu.rows), small(b.columns), factors.list(),
                     small(lu.leading()), narrow.data<int>(), sides.list(), small(b.leading()), &wrong,
                     small(b.count)),
                 "cublasGetrsBatched");
    });
    MT_CHECK(wrong == 0, "cublasGetrsBatched: parameter ", -wrong, " is wrong");
    return;
  }
  const solver::Session session(place);
  const Scratch code(place, sizeof(int));
  enqueue(place, "cusolverDnXgetrs", "lu_solve", [&] {
    for (int64_t i = 0; i < b.count; ++i)
      check(solver::api().lu_solve(session.handle, session.params, operation, lu.rows, b.columns, type,
                                   lu.at(i), lu.leading(), pivots.data<int64_t>() + i * lu.rows, type,
                                   b.at(i), b.leading(), static_cast<int*>(code.address())),
            "cusolverDnXgetrs");
  });
}

// Writes the factors over `a` and the scales of the reflections to `tau`.
void factor_qr(const Place& place, const Matrices& a, const Tensor& tau) {
  const int type = type_of(a.data.dtype(), "geqrf");
  const solver::Session session(place);
  size_t device_bytes = 0, host_bytes = 0;
  check(solver::api().qr_work(session.handle, session.params, a.rows, a.columns, type, a.at(0), a.leading(),
                              type, tau.data(), type, &device_bytes, &host_bytes),
        "cusolverDnXgeqrf_bufferSize");
  Work work(place, device_bytes, host_bytes);
  const Scratch code(place, sizeof(int));
  const int64_t bytes = std::min(a.rows, a.columns) * int64_t(tau.itemsize());
  enqueue(place, "cusolverDnXgeqrf", "geqrf", [&] {
    for (int64_t i = 0; i < a.count; ++i)
      check(solver::api().qr(session.handle, session.params, a.rows, a.columns, type, a.at(i), a.leading(),
                             type, tau.data<char>() + i * bytes, type, work.device.address(), device_bytes,
                             work.host.data(), host_bytes, static_cast<int*>(code.address())),
            "cusolverDnXgeqrf");
  });
}

// The first columns of the product of `count` reflections, over the reflections.
void multiply_reflections(const Place& place, const Matrices& q, const Tensor& tau, int64_t count) {
  const int type = type_of(q.data.dtype(), "orgqr");
  const size_t slot = slot_of(type);
  const solver::Session session(place);
  const int m = small(q.rows), n = small(q.columns), k = small(count), leading = small(q.leading());
  int elements = 0;
  check(solver::api().q_work[slot](session.handle, m, n, k, q.at(0), leading, tau.data(), &elements),
        "cusolverDnorgqr_bufferSize");
  const Scratch work(place, size_t(elements) * q.data.itemsize()), code(place, sizeof(int));
  const int64_t bytes = count * int64_t(tau.itemsize());
  enqueue(place, "cusolverDnorgqr", "householder_product", [&] {
    for (int64_t i = 0; i < q.count; ++i)
      check(solver::api().q[slot](session.handle, m, n, k, q.at(i), leading, tau.data<char>() + i * bytes,
                                  work.address(), elements, static_cast<int*>(code.address())),
            "cusolverDnorgqr");
  });
}

Tensor conjugated(const Tensor& t) {
  if (!is_complex(t.dtype())) return t;
  const Tensor made = new_like(t, t.dtype());
  table::_conj_physical.find(t.device())(t, made);
  return made;
}

// The largest magnitude tells: a number that is not finite stays that in it.
void check_finite(const Place& place, const Tensor& a) {
  const Tensor numbers = is_complex(a.dtype()) ? views::view_as_real(a) : a;
  const Tensor largest = new_tensor({}, numbers.dtype(), a.device()),
               here = new_tensor({}, numbers.dtype(), {});
  table::linalg_vector_norm.find(a.device())(numbers, Scalar(std::numeric_limits<double>::infinity()), {},
                                             false, std::nullopt, largest);
  place.accelerator.copy(largest, here, false);
  const double size = here.dtype() == DType::float32 ? *here.data<float>() : *here.data<double>();
  MT_CHECK(std::isfinite(size), "torch.linalg.eig: input tensor should not contain infs or NaNs.");
}

}  // namespace

void linalg_cholesky(const Tensor& self, bool upper, const Tensor& L, const Tensor& info) {
  const Place place(L);
  fill(place, info, 0);
  if (L.numel() == 0) return;
  const int type = type_of(self.dtype(), "cholesky");
  const Matrices a = by_columns(place, self);
  const Written codes(place, info, DType::int32);
  const solver::Session session(place);
  const int triangle = upper ? solver::kUpper : solver::kLower;
  if (go_together(a)) {
    const Addresses addresses(a);
    enqueue(place, "cusolverDnpotrfBatched", "cholesky", [&] {
      check(solver::api().cholesky_together[slot_of(type)](session.handle, triangle, small(a.rows),
                                                           addresses.list(), small(a.leading()),
                                                           codes.data<int>(), small(a.count)),
            "cusolverDnpotrfBatched");
    });
    codes.store();
    return (upper ? table::triu : table::tril).find(L.device())(a.as_tensor(), 0, L);
  }
  size_t device_bytes = 0, host_bytes = 0;
  check(solver::api().cholesky_work(session.handle, session.params, triangle, a.rows, type, a.at(0),
                                    a.leading(), type, &device_bytes, &host_bytes),
        "cusolverDnXpotrf_bufferSize");
  Work work(place, device_bytes, host_bytes);
  enqueue(place, "cusolverDnXpotrf", "cholesky", [&] {
    for (int64_t i = 0; i < a.count; ++i)
      check(solver::api().cholesky(session.handle, session.params, triangle, a.rows, type, a.at(i),
                                   a.leading(), type, work.device.address(), device_bytes, work.host.data(),
                                   host_bytes, codes.data<int>() + i),
            "cusolverDnXpotrf");
  });
  codes.store();
  (upper ? table::triu : table::tril).find(L.device())(a.as_tensor(), 0, L);
}

void linalg_lu_factor(const Tensor& A, bool, const Tensor& LU, const Tensor& pivots, const Tensor& info) {
  const Place place(LU);
  fill(place, info, 0);
  if (LU.numel() == 0) return;
  const Matrices a = by_columns(place, A);
  const Written places(place, pivots, DType::int64), codes(place, info, DType::int32);
  factor_lu(place, a, places.tensor(), codes.data<int>());
  places.store();
  codes.store();
  a.store(place, LU);
}

// X A = B is solved as A^T X^T = B^T, and X A^H = B as A X^H = B^H.
void linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint,
                     const Tensor& out) {
  if (out.numel() == 0) return;
  const Place place(out);
  const Matrices lu = by_columns(place, in_batch_of(LU, 2, out, 2));
  const Tensor swaps = in_batch_of(pivots, 1, out, 2);
  const Tensor places = new_like(swaps, DType::int64);
  place.accelerator.copy_on_device(swaps, places);
  const Tensor right = in_batch_of(B, 2, out, 2);
  if (left) {
    const Matrices b = by_columns(place, right);
    solve_lu(place, lu, places, b, adjoint ? solver::kAdjoint : solver::kAsIs);
    return b.store(place, out);
  }
  const Matrices b = by_columns(place, turned(adjoint ? conjugated(right) : right));
  solve_lu(place, lu, places, b, adjoint ? solver::kAsIs : solver::kTransposed);
  place.accelerator.copy_on_device(adjoint ? conjugated(b.data) : b.data, out);
}

void linalg_solve(const Tensor& A, const Tensor& B, bool left, const Tensor& solution, const Tensor& LU,
                  const Tensor& pivots, const Tensor& info) {
  linalg_lu_factor(A, true, LU, pivots, info);
  // As infer::is_vector_side: a vector, or a batch of them.
  const bool vectors = B.dim() == 1 || (A.dim() - 1 == B.dim() &&
                                        std::ranges::equal(A.sizes().first(size_t(A.dim() - 1)), B.sizes()));
  linalg_lu_solve(LU, pivots, vectors ? views::unsqueeze(B, -1) : B, left, false,
                  vectors ? views::unsqueeze(solution, -1) : solution);
}

void linalg_inverse(const Tensor& A, const Tensor& inverse, const Tensor& info) {
  const Place place(inverse);
  fill(place, info, 0);
  if (inverse.numel() == 0) return;
  const Matrices a = by_columns(place, A);
  const Tensor places =
      new_tensor(A.sizes().first(size_t(A.dim() - 1)), DType::int64, A.device());  // one list per matrix
  const Written codes(place, info, DType::int32);
  factor_lu(place, a, places, codes.data<int>());
  const Matrices b = new_matrices(A, a.rows, a.columns);
  make_identity(place, b.data);
  solve_lu(place, a, places, b, solver::kAsIs);
  codes.store();
  b.store(place, inverse);
}

void linalg_solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular,
                             const Tensor& out) {
  if (out.numel() == 0) return;
  const Place place(out);
  const int type = type_of(A.dtype(), "triangular_solve");
  const Matrices a = by_columns(place, in_batch_of(A, 2, out, 2));
  const Matrices b = by_columns(place, in_batch_of(B, 2, out, 2));
  const float one_float[2] = {1, 0};
  const double one_double[2] = {1, 0};
  const void* one = real_of(type) == solver::kFloat32 ? static_cast<const void*>(one_float) : one_double;
  const int m = small(b.rows), n = small(b.columns), side = left ? solver::kLeft : solver::kRight;
  const int triangle = upper ? solver::kUpper : solver::kLower;
  if (go_together(a)) {
    const Addresses matrices(a), sides(b);
    enqueue(place, "cublasTrsmBatched", "solve_triangular", [&] {
      check_blas(solver::blas_api().triangular_solve_together[slot_of(type)](
                     solver::blas_handle(place), side, triangle, solver::kAsIs, unitriangular, m, n, one,
                     matrices.list(), small(a.leading()), sides.list(), small(b.leading()), small(b.count)),
                 "cublasTrsmBatched");
    });
    return b.store(place, out);
  }
  enqueue(place, "cublasTrsm", "solve_triangular", [&] {
    solver::BlasHandle handle = solver::blas_handle(place);
    for (int64_t i = 0; i < b.count; ++i)
      check_blas(solver::blas_api().triangular_solve[slot_of(type)](
                     handle, side, triangle, solver::kAsIs, unitriangular, m, n, one, a.at(i),
                     small(a.leading()), b.at(i), small(b.leading())),
                 "cublasTrsm");
  });
  b.store(place, out);
}

void linalg_geqrf(const Tensor& self, const Tensor& a, const Tensor& tau) {
  if (a.numel() == 0) return;
  const Place place(a);
  const Matrices matrices = by_columns(place, self);
  const Written scales(place, tau, tau.dtype());
  factor_qr(place, matrices, scales.tensor());
  scales.store();
  matrices.store(place, a);
}

void linalg_householder_product(const Tensor& input, const Tensor& tau, const Tensor& out) {
  if (out.numel() == 0) return;
  const Place place(out);
  const int64_t count = tau.sizes().back();
  if (count == 0) return make_identity(place, out);
  const Matrices q = by_columns(place, input);
  multiply_reflections(place, q, place.accelerator.contiguous(tau), count);
  q.store(place, out);
}

void linalg_qr(const Tensor& A, std::string_view mode, const Tensor& Q, const Tensor& R) {
  const Place place(R);
  const int64_t rank = std::min(rows_of(A), columns_of(A)), inner = rows_of(R);
  const bool with_q = mode != "r";
  if (A.numel() == 0) {
    if (with_q && Q.numel() > 0) make_identity(place, Q);
    return fill(place, R, 0);
  }
  const Matrices a = by_columns(place, A);
  Dims scales(A.sizes().first(size_t(A.dim() - 2)));
  scales.push_back(rank);
  const Tensor tau = new_tensor(scales, A.dtype(), A.device());
  factor_qr(place, a, tau);
  table::triu.find(R.device())(views::slice(a.as_tensor(), -2, 0, inner, 1), 0, R);
  if (!with_q) return;
  const Matrices q = new_matrices(A, a.rows, inner);
  place.accelerator.copy_on_device(views::slice(a.data, -2, 0, rank, 1),
                                   views::slice(q.data, -2, 0, rank, 1));
  multiply_reflections(place, q, tau, rank);
  q.store(place, Q);
}

void linalg_eigh(const Tensor& A, std::string_view UPLO, bool compute_v, const Tensor& eigenvalues,
                 const Tensor& eigenvectors) {
  if (A.numel() == 0) return;
  const Place place(eigenvalues);
  const int type = type_of(A.dtype(), "linalg_eigh"), real = real_of(type);
  const Matrices a = by_columns(place, A);
  const Written values(place, eigenvalues, eigenvalues.dtype());
  const Tensor codes = new_codes(place, a.count);
  const int vectors = compute_v ? solver::kWithVectors : solver::kValuesOnly;
  const int triangle = UPLO == "U" || UPLO == "u" ? solver::kUpper : solver::kLower;
  const solver::Session session(place);
  size_t device_bytes = 0, host_bytes = 0;
  check(solver::api().eigh_work(session.handle, session.params, vectors, triangle, a.rows, type, a.at(0),
                                a.leading(), real, values.data<char>(), type, &device_bytes, &host_bytes),
        "cusolverDnXsyevd_bufferSize");
  Work work(place, device_bytes, host_bytes);
  const int64_t bytes = a.rows * int64_t(eigenvalues.itemsize());
  enqueue(place, "cusolverDnXsyevd", "eigh", [&] {
    for (int64_t i = 0; i < a.count; ++i)
      check(
          solver::api().eigh(session.handle, session.params, vectors, triangle, a.rows, type, a.at(i),
                             a.leading(), real, values.data<char>() + i * bytes, type, work.device.address(),
                             device_bytes, work.host.data(), host_bytes, codes.data<int>() + i),
          "cusolverDnXsyevd");
  });
  check_converged(place, codes, "linalg.eigh", "eigenvalues", A.dim() > 2);
  values.store();
  if (compute_v) a.store(place, eigenvectors);
}

void linalg_eig(const Tensor& A, bool compute_v, const Tensor& eigenvalues, const Tensor& eigenvectors) {
  if (A.numel() == 0) return;
  const Place place(eigenvalues);
  const int type = type_of(A.dtype(), "linalg_eig");
  const bool real = !is_complex(A.dtype());
  check_finite(place, A);
  const solver::EigApi& api = solver::eig_api();
  const Matrices a = by_columns(place, A);
  const int64_t size = a.rows;
  const Matrices vectors = new_matrices(A, compute_v ? size : 0, size);
  const Written values(place, eigenvalues, eigenvalues.dtype());
  const int values_type = type_of(eigenvalues.dtype(), "linalg_eig");
  const Tensor codes = new_codes(place, a.count);
  const int right = compute_v ? solver::kWithVectors : solver::kValuesOnly;
  const solver::Session session(place);
  size_t device_bytes = 0, host_bytes = 0;
  check(api.work(session.handle, session.params, solver::kValuesOnly, right, size, type, a.at(0), size,
                 values_type, values.data<char>(), type, nullptr, size, type, vectors.at(0), size, type,
                 &device_bytes, &host_bytes),
        "cusolverDnXgeev_bufferSize");
  Work work(place, device_bytes, host_bytes);
  const int64_t bytes = size * int64_t(eigenvalues.itemsize());
  enqueue(place, "cusolverDnXgeev", "eig", [&] {
    for (int64_t i = 0; i < a.count; ++i)
      check(api.eig(session.handle, session.params, solver::kValuesOnly, right, size, type, a.at(i), size,
                    values_type, values.data<char>() + i * bytes, type, nullptr, size, type, vectors.at(i),
                    size, type, work.device.address(), device_bytes, work.host.data(), host_bytes,
                    codes.data<int>() + i),
            "cusolverDnXgeev");
  });
  check_converged(place, codes, "linalg.eig", "eigenvalues", A.dim() > 2);
  if (compute_v && real) {
    const Matrices unpacked(new_like(vectors.data, eigenvectors.dtype()));
    unpack_eigenvectors(values.tensor(), vectors.data, unpacked.data);
    unpacked.store(place, eigenvectors);
  } else if (compute_v) {
    vectors.store(place, eigenvectors);
  }
  values.store();
}

// cuSOLVER wants no fewer rows than columns. Of the others it decomposes the transpose: A^T = Vh^T S U^T.
void linalg_svd(const Tensor& A, bool full_matrices, bool compute_uv, const Tensor& U, const Tensor& S,
                const Tensor& Vh) {
  const Place place(S);
  if (A.numel() == 0) {
    if (compute_uv && U.numel() > 0) make_identity(place, U);
    if (compute_uv && Vh.numel() > 0) make_identity(place, Vh);
    return;
  }
  const int type = type_of(A.dtype(), "linalg_svd"), real = real_of(type);
  const bool wide = rows_of(A) < columns_of(A);
  const Matrices a = by_columns(place, wide ? turned(A) : A);
  const int64_t rank = a.columns;
  const Matrices u = new_matrices(A, a.rows, compute_uv ? (full_matrices ? a.rows : rank) : 1);
  const Matrices v = new_matrices(A, compute_uv ? rank : 1, a.columns);
  const Written values(place, S, S.dtype());
  const Tensor codes = new_codes(place, a.count);
  const auto kind = static_cast<signed char>(!compute_uv ? 'N' : full_matrices ? 'A' : 'S');
  const solver::Session session(place);
  size_t device_bytes = 0, host_bytes = 0;
  check(solver::api().svd_work(session.handle, session.params, kind, kind, a.rows, a.columns, type, a.at(0),
                               a.leading(), real, values.data<char>(), type, u.at(0), u.leading(), type,
                               v.at(0), v.leading(), type, &device_bytes, &host_bytes),
        "cusolverDnXgesvd_bufferSize");
  Work work(place, device_bytes, host_bytes);
  const int64_t bytes = rank * int64_t(S.itemsize());
  enqueue(place, "cusolverDnXgesvd", "svd", [&] {
    for (int64_t i = 0; i < a.count; ++i)
      check(solver::api().svd(session.handle, session.params, kind, kind, a.rows, a.columns, type, a.at(i),
                              a.leading(), real, values.data<char>() + i * bytes, type, u.at(i), u.leading(),
                              type, v.at(i), v.leading(), type, work.device.address(), device_bytes,
                              work.host.data(), host_bytes, codes.data<int>() + i),
            "cusolverDnXgesvd");
  });
  check_converged(place, codes, "linalg.svd", "singular values", A.dim() > 2);
  values.store();
  if (!compute_uv) return;
  place.accelerator.copy_on_device(wide ? v.data : u.as_tensor(), U);
  place.accelerator.copy_on_device(wide ? u.data : v.as_tensor(), Vh);
}

}  // namespace mt::cuda
