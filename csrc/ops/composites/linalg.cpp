// torch.linalg in terms of its kernels: the _ex functions report in `info`, the others raise LinAlgError.
#include "generated/ops/composites/linalg.h"
#include "core/intercept.h"

#include <limits>

#include "autograd/formulas/linalg.h"
#include "autograd/formulas/matmul.h"
#include "autograd/node.h"
#include "core/intercept_python.h"
#include "core/transform.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/index.h"
#include "generated/ops/linalg.h"
#include "generated/ops/matmul.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/shape.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "infer/infer.h"
#include "infer/matrices.h"
#include "ops/check_errors.h"

namespace mt::composites {

using formulas::adjoint_of;
using formulas::identity_beside;

namespace {

using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

enum class Failure { not_positive_definite, singular_inverse, singular_solve, zero_pivot, singular_ldl };

std::string explain(Failure failure, int code) {
  switch (failure) {
    case Failure::not_positive_definite:
      return join_text(
          "The factorization could not be completed because the input is not positive-definite (the "
          "leading minor of order ",
          code, " is not positive-definite).");
    case Failure::singular_inverse:
      return join_text(
          "The diagonal element ", code,
          " is zero, the inversion could not be completed because the input matrix is singular.");
    case Failure::singular_solve: return "The solver failed because the input matrix is singular.";
    case Failure::singular_ldl:
      return join_text("The diagonal block of D at index ", code, " is zero, so the matrix is singular.");
    default:
      return join_text(
          "U[", code, ",", code,
          "] is zero and using it on lu_solve would result in a division by zero. If you still want to "
          "perform the factorization, consider calling linalg.lu(A, pivot) or "
          "linalg.lu_factor_ex(A, pivot)");
  }
}

// Raises for the first matrix of the batch that failed; reading `status` waits for the device.
void check_status(const Tensor& given, std::string_view name, Failure failure) {
  const Tensor& status = of_all_slices(given);
  if (status.device().is_meta() || status.numel() == 0) return;
  if (wanted_by_python(special(status))) [[unlikely]] {
    static const Operator& op = *find_operator("aten::_linalg_check_errors", "");
    g_python_interceptor(op, {Value(status), Value(std::string(name)), Value(status.dim() == 0)});
    return;
  }
  const Tensor host = ops::_to_copy(status, std::nullopt, Device{}, false, MemoryFormat::contiguous);
  for (int64_t i = 0; i < host.numel(); ++i) {
    const int code = host.data<int32_t>()[i];
    if (code == 0) continue;
    const std::string place = status.dim() > 0 ? join_text("(Batch element ", i, "): ") : "";
    // PyTorch raises a plain RuntimeError where only a later solve would divide by zero.
    fail(failure == Failure::zero_pivot ? ErrorKind::runtime : ErrorKind::linear_algebra, name, ": ", place,
         explain(failure, code));
  }
}

int64_t rows_of(const Tensor& a) { return a.sizes()[size_t(a.dim() - 2)]; }
int64_t columns_of(const Tensor& a) { return a.sizes()[size_t(a.dim() - 1)]; }

}  // namespace

}  // namespace mt::composites

namespace mt {

Values linalg_check_errors(const Values& arguments) {
  using composites::Failure;
  const std::string& name = std::get<std::string>(arguments.at(1));
  const auto about = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  const Failure failure = about("cholesky")                 ? Failure::not_positive_definite
                          : about("ldl")                    ? Failure::singular_ldl
                          : about("inv") || about("tensor") ? Failure::singular_inverse
                          : about("solve")                  ? Failure::singular_solve
                                                            : Failure::zero_pivot;
  composites::check_status(std::get<Tensor>(arguments.at(0)), name, failure);
  return {};
}

}  // namespace mt

namespace mt::composites {

// ---- LU and what is solved with it ----

Triple linalg_lu_factor_ex(const Tensor& A, bool pivot, bool check_errors) {
  auto made = ops::_linalg_lu_factor(A, pivot);
  if (check_errors) check_status(std::get<2>(made), "torch.linalg.lu_factor_ex", Failure::zero_pivot);
  return made;
}

Pair linalg_lu_factor(const Tensor& A, bool pivot) {
  const auto [LU, pivots, status] = ops::_linalg_lu_factor(A, pivot);
  check_status(status, "torch.linalg.lu_factor", Failure::zero_pivot);
  return {LU, pivots};
}

Triple lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data, bool unpack_pivots) {
  MT_CHECK(!unpack_pivots || LU_pivots.dtype() == DType::int32,
           "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.");
  infer::check_matrix(LU_data, "torch.lu_unpack", "LU_data");
  const int64_t m = rows_of(LU_data), n = columns_of(LU_data), k = std::min(m, n);
  const auto nothing = [&] { return ops::empty(Dims{0}, std::nullopt, {LU_data.dtype(), LU_data.device()}); };
  Tensor P = nothing(), L, U;
  if (unpack_pivots) P = ops::_linalg_permutation(LU_pivots, m, LU_data.dtype());
  if (unpack_data) {
    const Tensor ones = ops::slice(identity_beside(std::max(m, k), LU_data), 1, 0, k, 1);
    L = ops::add(ops::tril(ops::slice(LU_data, -1, 0, k, 1), -1), ones);
    U = ops::triu(ops::slice(LU_data, -2, 0, k, 1), 0);
  } else {
    L = nothing(), U = nothing();
  }
  return {P, L, U};
}

Triple linalg_lu(const Tensor& A, bool pivot) {
  infer::check_matrix(A, "linalg.lu");
  const auto [LU, pivots, status] = ops::_linalg_lu_factor(A, pivot);
  return lu_unpack(LU, pivots, true, true);
}

Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
  return ops::_linalg_lu_solve(LU, pivots, B, left, adjoint);
}
Tensor lu_solve(const Tensor& self, const Tensor& LU_data, const Tensor& LU_pivots) {
  return ops::_linalg_lu_solve(LU_data, LU_pivots, self, true, false);
}

Pair linalg_inv_ex(const Tensor& A, bool check_errors) {
  auto made = ops::_linalg_inverse(A);
  if (check_errors) check_status(std::get<1>(made), "linalg.inv_ex", Failure::singular_inverse);
  return made;
}
Tensor linalg_inv(const Tensor& A) {
  const auto [inverse, status] = ops::_linalg_inverse(A);
  check_status(status, "linalg.inv", Failure::singular_inverse);
  return inverse;
}

Pair linalg_solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors) {
  const auto [solution, LU, pivots, status] = ops::_linalg_solve(A, B, left);
  if (check_errors) check_status(status, "torch.linalg.solve_ex", Failure::singular_solve);
  return {solution, status};
}
Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) {
  const auto [solution, LU, pivots, status] = ops::_linalg_solve(A, B, left);
  check_status(status, "torch.linalg.solve", Failure::singular_solve);
  return solution;
}

Tensor linalg_det(const Tensor& A) { return std::get<0>(ops::_linalg_det(A)); }
Pair linalg_slogdet(const Tensor& A) {
  const auto [sign, log_abs, LU, pivots] = ops::_linalg_slogdet(A);
  return {sign, log_abs};
}
Tensor logdet(const Tensor& self) {
  infer::check_square(self, "logdet");
  infer::check_inexact(self, "logdet");
  const auto [sign, log_abs] = linalg_slogdet(self);
  if (is_complex(self.dtype())) return ops::add(ops::log(sign), log_abs);
  return ops::where(ops::eq(sign, Scalar(-1)), Scalar(std::numeric_limits<double>::quiet_NaN()), log_abs);
}

Tensor linalg_matrix_power(const Tensor& self, int64_t n) {
  infer::check_square(self, "linalg.matrix_power");
  if (n == 0) {  // a constant, but part of the graph as in PyTorch
    const Tensor out = ops::clone(self, std::nullopt);
    ops::copy_(out, identity_beside(rows_of(self), self), false);
    return out;
  }
  if (n == 1) return ops::clone(self, std::nullopt);
  Tensor power = n < 0 ? linalg_inv(self) : self, result;
  for (uint64_t left = n < 0 ? uint64_t(0) - uint64_t(n) : uint64_t(n); left != 0; left >>= 1) {
    if (left & 1) result = result.defined() ? ops::matmul(result, power) : power;
    if (left > 1) power = ops::matmul(power, power);
  }
  return result;
}

// ---- triangles ----

Pair linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  auto made = ops::_linalg_cholesky(self, upper);
  if (check_errors) check_status(std::get<1>(made), "linalg.cholesky_ex", Failure::not_positive_definite);
  return made;
}
Tensor linalg_cholesky(const Tensor& self, bool upper) {
  const auto [L, status] = ops::_linalg_cholesky(self, upper);
  check_status(status, "linalg.cholesky", Failure::not_positive_definite);
  return L;
}
Tensor cholesky(const Tensor& self, bool upper) {
  infer::check_square(self, "cholesky");
  const auto [L, status] = ops::_linalg_cholesky(self, upper);
  check_status(status, "cholesky", Failure::not_positive_definite);
  return L;
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  MT_CHECK(self.dim() >= 2, "b should have at least 2 dimensions, but has ", self.dim(),
           " dimensions instead");
  MT_CHECK(input2.dim() >= 2, "u should have at least 2 dimensions, but has ", input2.dim(),
           " dimensions instead");
  infer::check_square(input2, "cholesky_solve");
  MT_CHECK(rows_of(input2) == rows_of(self),
           "Incompatible matrix sizes for cholesky_solve: each A matrix is ", rows_of(input2), " by ",
           rows_of(input2), " but each b matrix is ", rows_of(self), " by ", columns_of(self));
  const Tensor first = upper ? adjoint_of(input2) : input2, second = upper ? input2 : adjoint_of(input2);
  return ops::_linalg_solve_triangular(second, ops::_linalg_solve_triangular(first, self, false, true, false),
                                       true, true, false);
}

Tensor linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left,
                               bool unitriangular) {
  return ops::_linalg_solve_triangular(self, B, upper, left, unitriangular);
}
Pair triangular_solve(const Tensor& self, const Tensor& A, bool upper, bool transpose, bool unitriangular) {
  MT_CHECK(self.dim() >= 2, "torch.triangular_solve: Expected b to have at least 2 dimensions, but it has ",
           self.dim(), " dimensions instead");
  MT_CHECK(A.dim() >= 2, "torch.triangular_solve: Expected A to have at least 2 dimensions, but it has ",
           A.dim(), " dimensions instead");
  infer::check_square(A, "triangular_solve");
  MT_CHECK(rows_of(A) == rows_of(self), "Incompatible matrix sizes for triangular_solve: each A matrix is ",
           rows_of(A), " by ", rows_of(A), " but each b matrix is ", rows_of(self), " by ", columns_of(self));
  const Tensor form = transpose ? ops::transpose(A, -2, -1) : A;
  const Tensor X = ops::_linalg_solve_triangular(form, self, upper != transpose, true, unitriangular);
  Dims sizes(infer::batch_of(X));
  sizes.push_back(rows_of(A)), sizes.push_back(rows_of(A));
  return {X, ops::clone(ops::expand(A, sizes, false), MemoryFormat::contiguous)};
}

Triple linalg_ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors) {
  auto made = ops::_linalg_ldl_factor(self, hermitian);
  if (check_errors) check_status(std::get<2>(made), "torch.linalg.ldl_factor_ex", Failure::singular_ldl);
  return made;
}
Pair linalg_ldl_factor(const Tensor& self, bool hermitian) {
  const auto [LD, pivots, status] = ops::_linalg_ldl_factor(self, hermitian);
  check_status(status, "torch.linalg.ldl_factor", Failure::singular_ldl);
  return {LD, pivots};
}
Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  return ops::_linalg_ldl_solve(LD, pivots, B, hermitian);
}

// ---- orthogonal and spectral ----

Pair linalg_qr(const Tensor& A, std::string_view mode) { return ops::_linalg_qr(A, mode); }
Pair qr(const Tensor& self, bool some) { return ops::_linalg_qr(self, some ? "reduced" : "complete"); }
Pair geqrf(const Tensor& self) { return ops::_linalg_geqrf(self); }

namespace {
void check_driver(std::optional<std::string_view> driver) {
  MT_CHECK(
      !driver,
      "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
}
}  // namespace

Triple linalg_svd(const Tensor& A, bool full_matrices, std::optional<std::string_view> driver) {
  check_driver(driver);
  return ops::_linalg_svd(A, full_matrices, true);
}
Tensor linalg_svdvals(const Tensor& A, std::optional<std::string_view> driver) {
  check_driver(driver);
  return std::get<1>(ops::_linalg_svd(A, false, autograd::any_needs_grad(A) || is_dual(A)));
}
Triple svd(const Tensor& self, bool some, bool compute_uv) {
  infer::check_matrix(self, "linalg.svd");
  const int64_t m = rows_of(self), n = columns_of(self);
  if (compute_uv) {
    const auto [U, S, Vh] = ops::_linalg_svd(self, !some, true);
    return {U, S, adjoint_of(Vh)};
  }
  const TensorOptions options{self.dtype(), self.device()};
  return {ops::zeros(infer::with_sizes(infer::batch_of(self), {m, m}), options),
          linalg_svdvals(self, std::nullopt),
          ops::zeros(infer::with_sizes(infer::batch_of(self), {n, n}), options)};
}

Pair linalg_eigh(const Tensor& self, std::string_view UPLO) { return ops::_linalg_eigh(self, UPLO, true); }
Tensor linalg_eigvalsh(const Tensor& self, std::string_view UPLO) {
  return std::get<0>(ops::_linalg_eigh(self, UPLO, autograd::any_needs_grad(self) || is_dual(self)));
}
Pair linalg_eig(const Tensor& self) { return ops::_linalg_eig(self, true); }
Tensor linalg_eigvals(const Tensor& self) {
  return std::get<0>(ops::_linalg_eig(self, autograd::any_needs_grad(self) || is_dual(self)));
}

Tensor linalg_diagonal(const Tensor& A, int64_t offset, int64_t dim1, int64_t dim2) {
  return ops::diagonal(A, offset, dim1, dim2);
}

// Matrix i is sizes[i] by sizes[i + 1]; the products are made in the order with the fewest multiplications.
static Tensor product_of(const std::vector<Tensor>& matrices, const std::vector<double>& sizes) {
  const size_t count = matrices.size();
  std::vector<double> cost(count * count, 0);
  std::vector<size_t> split(count * count, 0);  // of matrices i … j
  for (size_t length = 1; length < count; ++length) {
    for (size_t i = 0; i + length < count; ++i) {
      const size_t j = i + length;
      for (size_t k = i; k < j; ++k) {
        const double found =
            cost[i * count + k] + cost[(k + 1) * count + j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (k > i && found >= cost[i * count + j]) continue;
        cost[i * count + j] = found, split[i * count + j] = k;
      }
    }
  }
  const auto product = [&](const auto& self, size_t i, size_t j) -> Tensor {
    if (i == j) return matrices[i];
    const size_t k = split[i * count + j];
    return ops::mm(self(self, i, k), self(self, k + 1, j));
  };
  return product(product, 0, count - 1);
}

Tensor linalg_multi_dot(TensorList tensors) {
  const size_t count = tensors.size();
  MT_CHECK(count >= 2, "multi_dot(): expected at least 2 tensors but got ", count);
  const Tensor &first = tensors[0], &last = tensors[count - 1];
  const auto check_end = [](const Tensor& end, const char* place) {
    MT_CHECK(end.dim() == 1 || end.dim() == 2, "multi_dot(): the ", place,
             " tensor must be 1D or 2D but got ", end.dim(), "D");
  };
  check_end(first, "first"), check_end(last, "last");
  std::vector<Tensor> matrices;
  std::vector<double> sizes;
  for (size_t i = 0; i < count; ++i) {
    const Tensor& tensor = tensors[i];
    MT_CHECK(i == 0 || i == count - 1 || tensor.dim() == 2, "multi_dot(): tensor ", i, " must be 2D but got ",
             tensor.dim(), "D");
    MT_CHECK(tensor.dtype() == first.dtype(),
             "multi_dot(): all tensors must have be the same dtype but tensor 0 is ", c_name(first.dtype()),
             " and tensor ", i, " ", c_name(tensor.dtype()));
    matrices.push_back(tensor.dim() == 2 ? tensor : ops::unsqueeze(tensor, i == 0 ? 0 : 1));
    sizes.push_back(double(matrices.back().size(0)));
    MT_CHECK(i == 0 || matrices[i - 1].size(1) == matrices[i].size(0), "multi_dot(): tensors ", i - 1,
             " and ", i, " with shapes ", to_string(tensors[i - 1].sizes()), " and ",
             to_string(tensor.sizes()), " cannot be multiplied");
  }
  sizes.push_back(double(matrices.back().size(1)));
  Tensor out = product_of(matrices, sizes);
  if (last.dim() == 1) out = ops::squeeze(out, 1);
  return first.dim() == 1 ? ops::squeeze(out, 0) : out;
}

}  // namespace mt::composites
