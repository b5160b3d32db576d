// cuSOLVER's dense interface and cuBLAS's triangular solver in C, as far as they are used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/library_call.h"

namespace mt::cuda::solver {

using Status = int;  // 0 is success
using Handle = struct HandleOf*;
using Params = struct ParamsOf*;
using BlasHandle = struct BlasHandleOf*;

enum Number : int { kFloat32 = 0, kFloat64 = 1, kComplex64 = 4, kComplex128 = 5 };
enum Triangle : int { kLower = 0, kUpper = 1 };
enum Operation : int { kAsIs = 0, kTransposed = 1, kAdjoint = 2 };
enum Side : int { kLeft = 0, kRight = 1 };
enum Vectors : int { kValuesOnly = 0, kWithVectors = 1 };

// Matrices lie by columns. Sizes of work are in bytes, on the device and on the host.
#define MT_CUSOLVER_FUNCTIONS(X)                                                                             \
  X(create, "cusolverDnCreate", (Handle * handle))                                                           \
  X(set_stream, "cusolverDnSetStream", (Handle handle, void* stream))                                        \
  X(create_params, "cusolverDnCreateParams", (Params * params))                                              \
  X(cholesky_work, "cusolverDnXpotrf_bufferSize",                                                            \
    (Handle handle, Params params, int triangle, int64_t n, int type, const void* a, int64_t leading,        \
     int compute, size_t* device_bytes, size_t* host_bytes))                                                 \
  X(cholesky, "cusolverDnXpotrf",                                                                            \
    (Handle handle, Params params, int triangle, int64_t n, int type, void* a, int64_t leading, int compute, \
     void* device_work, size_t device_bytes, void* host_work, size_t host_bytes, int* info))                 \
  X(lu_work, "cusolverDnXgetrf_bufferSize",                                                                  \
    (Handle handle, Params params, int64_t m, int64_t n, int type, const void* a, int64_t leading,           \
     int compute, size_t* device_bytes, size_t* host_bytes))                                                 \
  X(lu, "cusolverDnXgetrf",                                                                                  \
    (Handle handle, Params params, int64_t m, int64_t n, int type, void* a, int64_t leading,                 \
     int64_t* pivots, int compute, void* device_work, size_t device_bytes, void* host_work,                  \
     size_t host_bytes, int* info))                                                                          \
  X(lu_solve, "cusolverDnXgetrs",                                                                            \
    (Handle handle, Params params, int operation, int64_t n, int64_t columns, int type, const void* a,       \
     int64_t leading, const int64_t* pivots, int b_type, void* b, int64_t b_leading, int* info))             \
  X(qr_work, "cusolverDnXgeqrf_bufferSize",                                                                  \
    (Handle handle, Params params, int64_t m, int64_t n, int type, const void* a, int64_t leading,           \
     int tau_type, const void* tau, int compute, size_t* device_bytes, size_t* host_bytes))                  \
  X(qr, "cusolverDnXgeqrf",                                                                                  \
    (Handle handle, Params params, int64_t m, int64_t n, int type, void* a, int64_t leading, int tau_type,   \
     void* tau, int compute, void* device_work, size_t device_bytes, void* host_work, size_t host_bytes,     \
     int* info))                                                                                             \
  X(eigh_work, "cusolverDnXsyevd_bufferSize",                                                                \
    (Handle handle, Params params, int vectors, int triangle, int64_t n, int type, const void* a,            \
     int64_t leading, int values_type, const void* values, int compute, size_t* device_bytes,                \
     size_t* host_bytes))                                                                                    \
  X(eigh, "cusolverDnXsyevd",                                                                                \
    (Handle handle, Params params, int vectors, int triangle, int64_t n, int type, void* a, int64_t leading, \
     int values_type, void* values, int compute, void* device_work, size_t device_bytes, void* host_work,    \
     size_t host_bytes, int* info))                                                                          \
  X(svd_work, "cusolverDnXgesvd_bufferSize",                                                                 \
    (Handle handle, Params params, signed char u_kind, signed char v_kind, int64_t m, int64_t n, int type,   \
     const void* a, int64_t leading, int s_type, const void* s, int u_type, const void* u,                   \
     int64_t u_leading, int v_type, const void* v, int64_t v_leading, int compute, size_t* device_bytes,     \
     size_t* host_bytes))                                                                                    \
  X(svd, "cusolverDnXgesvd",                                                                                 \
    (Handle handle, Params params, signed char u_kind, signed char v_kind, int64_t m, int64_t n, int type,   \
     void* a, int64_t leading, int s_type, void* s, int u_type, void* u, int64_t u_leading, int v_type,      \
     void* v, int64_t v_leading, int compute, void* device_work, size_t device_bytes, void* host_work,       \
     size_t host_bytes, int* info))

// Since CUDA 12.6. Of real matrices the values may be complex, and the vectors are real (device/eigenvectors.h).
#define MT_CUSOLVER_EIG_FUNCTIONS(X)                                                                         \
  X(work, "cusolverDnXgeev_bufferSize",                                                                      \
    (Handle handle, Params params, int left, int right, int64_t n, int type, const void* a, int64_t leading, \
     int values_type, const void* values, int left_type, const void* left_vectors, int64_t left_leading,     \
     int right_type, const void* right_vectors, int64_t right_leading, int compute, size_t* device_bytes,    \
     size_t* host_bytes))                                                                                    \
  X(eig, "cusolverDnXgeev",                                                                                  \
    (Handle handle, Params params, int left, int right, int64_t n, int type, void* a, int64_t leading,       \
     int values_type, void* values, int left_type, void* left_vectors, int64_t left_leading, int right_type, \
     void* right_vectors, int64_t right_leading, int compute, void* device_work, size_t device_bytes,        \
     void* host_work, size_t host_bytes, int* info))

// By type: S, D, C, Z. `work` counts elements.
#define MT_CUSOLVER_TYPED_FUNCTIONS(X)                                                                 \
  X(q_work,                                                                                            \
    ("cusolverDnSorgqr_bufferSize", "cusolverDnDorgqr_bufferSize", "cusolverDnCungqr_bufferSize",      \
     "cusolverDnZungqr_bufferSize"),                                                                   \
    (Handle handle, int m, int n, int k, const void* a, int leading, const void* tau, int* work))      \
  X(cholesky_together,                                                                                 \
    ("cusolverDnSpotrfBatched", "cusolverDnDpotrfBatched", "cusolverDnCpotrfBatched",                  \
     "cusolverDnZpotrfBatched"),                                                                       \
    (Handle handle, int triangle, int n, void* const* matrices, int leading, int* infos, int count))   \
  X(q, ("cusolverDnSorgqr", "cusolverDnDorgqr", "cusolverDnCungqr", "cusolverDnZungqr"),               \
    (Handle handle, int m, int n, int k, void* a, int leading, const void* tau, void* work, int count, \
     int* info))

struct Api {
#define X(name, symbol, parameters) Status(*name) parameters = nullptr;
  MT_CUSOLVER_FUNCTIONS(X)
#undef X
#define X(name, symbols, parameters) Status(*name[4]) parameters = {};
  MT_CUSOLVER_TYPED_FUNCTIONS(X)
#undef X
};

struct EigApi {
#define X(name, symbol, parameters) Status(*name) parameters = nullptr;
  MT_CUSOLVER_EIG_FUNCTIONS(X)
#undef X
};

#define MT_CUBLAS_FUNCTIONS(X)                        \
  X(create, "cublasCreate_v2", (BlasHandle * handle)) \
  X(set_stream, "cublasSetStream_v2", (BlasHandle handle, void* stream))

// By type: S, D, C, Z. Those of many matrices take addresses that lie on the device; `info` is a number of the host's.
#define MT_CUBLAS_TYPED_FUNCTIONS(X)                                                                      \
  X(triangular_solve, ("cublasStrsm_v2", "cublasDtrsm_v2", "cublasCtrsm_v2", "cublasZtrsm_v2"),           \
    (BlasHandle handle, int side, int triangle, int operation, int unit, int m, int n, const void* alpha, \
     const void* a, int leading, void* b, int b_leading))                                                 \
  X(triangular_solve_together,                                                                            \
    ("cublasStrsmBatched", "cublasDtrsmBatched", "cublasCtrsmBatched", "cublasZtrsmBatched"),             \
    (BlasHandle handle, int side, int triangle, int operation, int unit, int m, int n, const void* alpha, \
     const void* const* a, int leading, void* const* b, int b_leading, int count))                        \
  X(lu_together,                                                                                          \
    ("cublasSgetrfBatched", "cublasDgetrfBatched", "cublasCgetrfBatched", "cublasZgetrfBatched"),         \
    (BlasHandle handle, int n, void* const* a, int leading, int* pivots, int* infos, int count))          \
  X(lu_solve_together,                                                                                    \
    ("cublasSgetrsBatched", "cublasDgetrsBatched", "cublasCgetrsBatched", "cublasZgetrsBatched"),         \
    (BlasHandle handle, int operation, int n, int columns, const void* const* a, int leading,             \
     const int* pivots, void* const* b, int b_leading, int* info, int count))

struct BlasApi {
#define X(name, symbol, parameters) Status(*name) parameters = nullptr;
  MT_CUBLAS_FUNCTIONS(X)
#undef X
#define X(name, symbols, parameters) Status(*name[4]) parameters = {};
  MT_CUBLAS_TYPED_FUNCTIONS(X)
#undef X
};

const Api& api();         // open the libraries; throw where they are missing
const EigApi& eig_api();  // apart, since an older library has all but these
const BlasApi& blas_api();

// A handle of this thread with the stream of the place, and the parameters of the interface.
struct Session {
  explicit Session(const Place& place);
  Handle handle;
  Params params;
};
BlasHandle blas_handle(const Place& place);

[[noreturn]] void fail_solver(Status code, const char* library, const char* function);
inline void check(Status code, const char* function) {
  if (code != 0) [[unlikely]]
    fail_solver(code, "cuSOLVER", function);
}
inline void check_blas(Status code, const char* function) {
  if (code != 0) [[unlikely]]
    fail_solver(code, "cuBLAS", function);
}

}  // namespace mt::cuda::solver
