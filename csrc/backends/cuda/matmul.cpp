#include "generated/cuda/matmul.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <optional>

#include "backends/cuda/cublas_lt.h"
#include "backends/cuda/float_products.h"
#include "base/error.h"
#include "core/views.h"

namespace mt::cuda {
namespace {

std::optional<int> number_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return blas::kFloat32;
    case DType::float64: return blas::kFloat64;
    case DType::float16: return blas::kFloat16;
    case DType::bfloat16: return blas::kBfloat16;
    case DType::complex64: return blas::kComplex64;
    case DType::complex128: return blas::kComplex128;
    default: return std::nullopt;
  }
}

int arithmetic_of(int number) {
  if (number == blas::kFloat64 || number == blas::kComplex128) return blas::kCompute64;
  const bool single = number == blas::kFloat32 || number == blas::kComplex64;
  return single && settings().tf32_products.load(std::memory_order_relaxed) ? blas::kComputeTf32
                                                                            : blas::kCompute32;
}

// A factor in the type that cuBLASLt scales with.
struct Factor {
  alignas(16) char bytes[kFactorBytes];
  Factor(const Scalar& value, int number) {
    switch (number) {
      case blas::kFloat64: put(value.to<double>()); break;
      case blas::kComplex64: put(value.to<complex64>()); break;
      case blas::kComplex128: put(value.to<complex128>()); break;
      default: put(value.to<float>());
    }
  }
  template <class T>
  void put(const T& value) {
    std::memcpy(bytes, &value, sizeof value);
  }
};

int32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<uintptr_t>(address);
  return bits == 0 ? 16 : int32_t(std::min<uintptr_t>(bits & -bits, 16));
}

// A window of rows x columns elements as cuBLASLt takes it: one of the strides is 1, the other spans a column or a row.
std::optional<BlasMatrix> by_strides(int64_t rows, int64_t columns, int64_t row_stride,
                                     int64_t column_stride) {
  BlasMatrix matrix;
  if ((row_stride == 1 || rows == 1) && (columns == 1 || column_stride >= rows)) {
    matrix.leading = columns == 1 ? rows : column_stride;
    return matrix;
  }
  if ((column_stride == 1 || columns == 1) && (rows == 1 || row_stride >= columns)) {
    matrix.leading = rows == 1 ? columns : row_stride;
    matrix.transposed = 1;
    return matrix;
  }
  return std::nullopt;
}

// The last two dimensions of a tensor; `turned`: as its transpose.
std::optional<BlasMatrix> matrix_of(const Tensor& tensor, bool turned) {
  const int64_t last = tensor.dim() - 1;
  const int64_t rows = tensor.sizes()[last - 1], columns = tensor.sizes()[last];
  const int64_t row_stride = tensor.strides()[last - 1], column_stride = tensor.strides()[last];
  std::optional<BlasMatrix> matrix = turned ? by_strides(columns, rows, column_stride, row_stride)
                                            : by_strides(rows, columns, row_stride, column_stride);
  if (!matrix) return matrix;
  matrix->batch_stride = tensor.dim() == 3 && tensor.sizes()[0] > 1 ? tensor.strides()[0] : 0;
  matrix->alignment = alignment_of(tensor.data());
  return matrix;
}

bool takes_result(const std::optional<BlasMatrix>& matrix) { return matrix && !matrix->transposed; }

// `tensor` itself or a copy that cuBLASLt takes.
BlasMatrix factor_matrix(const Place& place, Tensor& tensor, bool turned) {
  if (const std::optional<BlasMatrix> matrix = matrix_of(tensor, turned)) return *matrix;
  tensor = place.accelerator.contiguous(tensor);
  return *matrix_of(tensor, turned);
}

// A vector that is added to every row, which the product does on its way out.
bool is_bias(const Tensor& self, const Scalar& beta, const Tensor& out, int number) {
  if (!beta.equals(1) || out.dim() != 2 || out.sizes()[0] < 2 || out.sizes()[1] < 2) return false;
  if (number != blas::kFloat32 && number != blas::kFloat16 && number != blas::kBfloat16) return false;
  const int64_t dims = self.dim();
  if (dims < 1 || self.sizes()[dims - 1] != out.sizes()[1] || self.strides()[dims - 1] != 1) return false;
  if (dims == 2 && self.sizes()[0] != 1 && self.strides()[0] != 0) return false;
  return alignment_of(self.data()) == 16;
}

void fill_zero(const Place& place, const Tensor& tensor) {
  MT_CHECK(place.accelerator.fill(tensor, Scalar(0)), "zeros of ", info(tensor.dtype()).name,
           " cannot be made on ", place.accelerator.title());
}

void product(const Place& place, const char* name, const Tensor& left, const Tensor& right,
             const Tensor& self, const Scalar& beta, const Scalar& alpha, const Tensor& out, int number);

// False: only with an epilogue, as multiply() says.
bool multiplied(const Place& place, const ProductShape& shape, const ProductPointers& pointers,
                const char* name) {
  return multiply_floats(place, shape, pointers, name) || multiply(place, shape, pointers, name);
}

// Without anything to sum over, what is left is beta * self.
void scale(const Place& place, const char* name, const Tensor& self, const Scalar& beta, const Scalar& alpha,
           const Tensor& out, int number) {
  if (!self.defined() || beta.equals(0)) return fill_zero(place, out);
  if (beta.equals(1)) {
    if (!self.same(out)) place.accelerator.copy_on_device(views::expand(self, out.sizes(), false), out);
    return;
  }
  Dims sizes(out.sizes());
  const size_t last = sizes.size() - 1;
  const int64_t columns = sizes[last];
  sizes[last] = 1;
  const Tensor left = new_tensor(sizes, out.dtype(), out.device());
  sizes[last - 1] = 1;
  sizes[last] = columns;
  const Tensor right = new_tensor(sizes, out.dtype(), out.device());
  fill_zero(place, left);
  fill_zero(place, right);
  product(place, name, left, right, self, beta, alpha, out, number);
}

// Note [Rows and columns]
// cuBLASLt's matrices lie by columns. A result that lies by rows is the transpose of one that lies by columns, and
// (left right)^T = right^T left^T: the factors change places, each is seen as its transpose, and nothing is copied.
void product(const Place& place, const char* name, const Tensor& left, const Tensor& right,
             const Tensor& self, const Scalar& beta, const Scalar& alpha, const Tensor& out, int number) {
  const int64_t dims = out.dim();
  const int64_t inner = left.sizes()[dims - 1];
  if (inner == 0) return scale(place, name, self, beta, alpha, out, number);

  Tensor result = out;
  bool turned = true;
  std::optional<BlasMatrix> d = matrix_of(result, turned);
  if (!takes_result(d)) d = matrix_of(result, turned = false);
  if (!takes_result(d)) {
    result = new_tensor(out.sizes(), out.dtype(), out.device());
    d = matrix_of(result, turned = true);
  }

  Tensor a = turned ? right : left, b = turned ? left : right;
  ProductShape shape{};
  shape.rows = turned ? out.sizes()[dims - 1] : out.sizes()[dims - 2];
  shape.columns = turned ? out.sizes()[dims - 2] : out.sizes()[dims - 1];
  shape.inner = inner;
  shape.batch = dims == 3 ? out.sizes()[0] : 1;
  shape.a = factor_matrix(place, a, turned);
  shape.b = factor_matrix(place, b, turned);
  shape.c = shape.d = *d;
  shape.number = number;
  shape.arithmetic = arithmetic_of(number);
  shape.epilogue = blas::kNoEpilogue;
  shape.reduced_sums = settings().reduced_sums.load(std::memory_order_relaxed);
  shape.device = place.index();

  const bool adds = self.defined() && !beta.equals(0);
  const Factor by(alpha, number), nothing(Scalar(0), number);
  ProductPointers pointers{a.data(), b.data(), result.data(), result.data(),
                           nullptr,  by.bytes, nothing.bytes};
  if (adds && turned && is_bias(self, beta, out, number)) {
    shape.epilogue = blas::kBias;
    pointers.bias = self.data();
    if (multiplied(place, shape, pointers, name)) {
      if (!result.same(out)) place.accelerator.copy_on_device(result, out);
      return;
    }
    shape.epilogue = blas::kNoEpilogue;
    pointers.bias = nullptr;
  }
  const Factor of_self(beta, number);
  if (adds) {
    pointers.beta = of_self.bytes;
    std::optional<BlasMatrix> c;
    if (std::ranges::equal(self.sizes(), out.sizes())) c = matrix_of(self, turned);
    if (takes_result(c) && (shape.batch == 1 || c->batch_stride != 0)) {
      shape.c = *c;
      pointers.c = self.data();
    } else {
      place.accelerator.copy_on_device(views::expand(self, out.sizes(), false), result);
    }
  }
  multiplied(place, shape, pointers, name);
  if (!result.same(out)) place.accelerator.copy_on_device(result, out);
}

void run(const char* name, const char* refused, const Tensor& left, const Tensor& right, const Tensor& self,
         const Scalar& beta, const Scalar& alpha, const Tensor& out) {
  if (out.numel() == 0) return;
  const std::optional<int> number = number_of(out.dtype());
  MT_CHECK_AS(not_implemented, number, "\"", refused, "\" not implemented for '", info(out.dtype()).legacy,
              "'");
  product(Place(out), name, left, right, self, beta, alpha, out, *number);
}

}  // namespace

void mm(const Tensor& self, const Tensor& mat2, const Tensor& out) {
  run("mm", "addmm_cuda", self, mat2, Tensor(), Scalar(0), Scalar(1), out);
}

void bmm(const Tensor& self, const Tensor& mat2, const Tensor& out) {
  run("bmm", "baddbmm_cuda", self, mat2, Tensor(), Scalar(0), Scalar(1), out);
}

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
           const Scalar& alpha, const Tensor& out) {
  run("addmm", "addmm_cuda", mat1, mat2, self, beta, alpha, out);
}

void baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
             const Scalar& alpha, const Tensor& out) {
  run("baddbmm", "baddbmm_cuda", batch1, batch2, self, beta, alpha, out);
}

}  // namespace mt::cuda
