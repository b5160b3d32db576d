// cuBLASLt's C interface, as far as it is used, and products of matrices over it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/library_call.h"

namespace mt::cuda {

namespace blas {

using Status = int;  // 0 is success
using Handle = struct HandleOf*;
using Product = struct ProductOf*;        // cublasLtMatmulDesc_t
using Layout = struct LayoutOf*;          // cublasLtMatrixLayout_t
using Preference = struct PreferenceOf*;  // cublasLtMatmulPreference_t

enum Number : int {
  kFloat32 = 0,
  kFloat64 = 1,
  kFloat16 = 2,
  kComplex64 = 4,
  kComplex128 = 5,
  kBfloat16 = 14
};
enum Arithmetic : int { kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77 };
enum Operation : int { kAsIs = 0, kTransposed = 1 };
enum Epilogue : int { kNoEpilogue = 1, kBias = 4 };
enum LayoutAttribute : int { kBatchCount = 5, kBatchStride = 6 };
enum ProductAttribute : int {
  kTransposeA = 3,
  kTransposeB = 4,
  kEpilogueKind = 7,
  kBiasPointer = 8,
  kBiasType = 26
};
enum PreferenceAttribute : int {
  kMostWorkspace = 1,
  kReductionSchemes = 3,
  kAlignmentA = 5,
  kAlignmentB = 6,
  kAlignmentC = 7,
  kAlignmentD = 8
};
enum ReductionScheme : uint32_t { kNotSplit = 0, kInComputeType = 2 };

struct Algorithm {
  uint64_t data[8];
};
struct Found {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

#define MT_CUBLAS_LT_FUNCTIONS(X)                                                                      \
  X(create, "cublasLtCreate", (Handle * handle))                                                       \
  X(product_create, "cublasLtMatmulDescCreate", (Product * made, int arithmetic, int scale_type))      \
  X(product_destroy, "cublasLtMatmulDescDestroy", (Product product))                                   \
  X(product_set, "cublasLtMatmulDescSetAttribute",                                                     \
    (Product product, int attribute, const void* value, size_t bytes))                                 \
  X(layout_create, "cublasLtMatrixLayoutCreate",                                                       \
    (Layout * made, int type, uint64_t rows, uint64_t columns, int64_t leading))                       \
  X(layout_destroy, "cublasLtMatrixLayoutDestroy", (Layout layout))                                    \
  X(layout_set, "cublasLtMatrixLayoutSetAttribute",                                                    \
    (Layout layout, int attribute, const void* value, size_t bytes))                                   \
  X(preference_create, "cublasLtMatmulPreferenceCreate", (Preference * made))                          \
  X(preference_destroy, "cublasLtMatmulPreferenceDestroy", (Preference preference))                    \
  X(preference_set, "cublasLtMatmulPreferenceSetAttribute",                                            \
    (Preference preference, int attribute, const void* value, size_t bytes))                           \
  X(heuristic, "cublasLtMatmulAlgoGetHeuristic",                                                       \
    (Handle handle, Product product, Layout a, Layout b, Layout c, Layout d, Preference preference,    \
     int wanted, Found* results, int* count))                                                          \
  X(multiply, "cublasLtMatmul",                                                                        \
    (Handle handle, Product product, const void* alpha, const void* a, Layout a_layout, const void* b, \
     Layout b_layout, const void* beta, const void* c, Layout c_layout, void* d, Layout d_layout,      \
     const Algorithm* algorithm, void* workspace, size_t workspace_bytes, void* stream))

struct Api {
#define X(name, symbol, parameters) Status(*name) parameters = nullptr;
  MT_CUBLAS_LT_FUNCTIONS(X)
#undef X
};

const Api& api();  // opens the library; throws where it is missing

}  // namespace blas

// One matrix of a product in memory by columns: `leading` elements from one column to the next, transposed or not.
struct BlasMatrix {
  int64_t leading = 0;
  int64_t batch_stride = 0;
  int32_t transposed = 0;
  int32_t alignment = 16;  // bytes
  bool operator==(const BlasMatrix&) const = default;
};

// d = alpha * a b + beta * c (+ bias), for `batch` of them; d is rows x columns, by columns. Everything that a plan
// depends on: compared as bytes.
struct ProductShape {
  int64_t rows, columns, inner, batch;
  BlasMatrix a, b, c, d;
  int32_t number, arithmetic;
  int32_t epilogue;
  int32_t reduced_sums;
  int32_t device;
  int32_t padding = 0;
  bool operator==(const ProductShape&) const = default;
};

inline constexpr size_t kFactorBytes = 16;
struct ProductPointers {
  const void *a, *b, *c;
  void* d;
  const void* bias;          // of rows elements; null without the epilogue
  const void *alpha, *beta;  // kFactorBytes each
};

// Enqueues it; false: cuBLASLt has nothing for this shape (only with an epilogue; without one that is an error).
bool multiply(const Place& place, const ProductShape& shape, const ProductPointers& pointers,
              const char* name);

}  // namespace mt::cuda
