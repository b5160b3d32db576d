#include "generated/infer/linalg.h"

#include <algorithm>

#include "infer/matrices.h"

namespace mt::infer {
namespace {

int64_t rank_of(const Tensor& a) { return std::min(rows_of(a), columns_of(a)); }

void check_same_type(const Tensor& a, const Tensor& b, const char* name) {
  MT_CHECK(a.dtype() == b.dtype(), name, ": Expected A and B to have the same dtype, but found A of type ",
           info(a.dtype()).legacy, " and B of type ", info(b.dtype()).legacy, " instead");
}

void check_sides(int64_t n, int64_t rows, int64_t columns, bool left, const char* name) {
  MT_CHECK((left ? rows : columns) == n, name, ": Incompatible shapes of A and B for the equation ",
           left ? "AX = B" : "XA = B", " (", n, "x", n, " and ", rows, "x", columns, ")");
}

// complex64 for float32.
DType complex_dtype(DType t) {
  if (is_complex(t)) return t;
  MT_CHECK(is_floating(t), "Unknown Complex ScalarType for ", info(t).legacy);
  MT_CHECK_AS(not_implemented, itemsize(t) > 2, "\"linalg_eig_out_cpu\" not implemented for '",
              info(t).legacy, "'");
  return t == DType::float64 ? DType::complex128 : DType::complex64;
}

}  // namespace

void linalg_lu_factor(const Tensor& A, bool pivot, Output& LU, Output& pivots, Output& info) {
  MT_CHECK(A.dim() >= 2,
           "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: ", to_string(A.sizes()),
           " instead");
  MT_CHECK(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  LU.prepare(A.sizes(), A.dtype(), A.device());
  pivots.prepare(with_sizes(batch_of(A), {rank_of(A)}), DType::int32, A.device());
  info.prepare(batch_of(A), DType::int32, A.device());
}

void linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool, Output& out) {
  const char* name = "linalg.lu_solve";
  check_inexact(LU, name);
  check_square(LU, "torch.linalg.lu_solve");
  check_matrix(B, name, "B");
  check_same_type(LU, B, name);
  MT_CHECK(pivots.dtype() == DType::int32, name, ": pivots should be a Tensor of scalar type torch.int32");
  check_sides(rows_of(LU), rows_of(B), columns_of(B), left, name);
  MT_CHECK(pivots.dim() > 0 && pivots.sizes().back() == rows_of(LU), name,
           ": Number of pivots per batch should be same as the dimension of the matrix");
  MT_CHECK(std::ranges::equal(pivots.sizes().first(size_t(pivots.dim() - 1)), batch_of(LU)), name,
           ": Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
           to_string(pivots.sizes()), " instead");
  check_same_device({&LU, &pivots, &B});
  const Dims batch = broadcast(batch_of(LU), batch_of(B));
  out.prepare(with_sizes(batch, {rows_of(B), columns_of(B)}), B.dtype(), B.device());
}

void linalg_permutation(const Tensor& pivots, int64_t rows, DType dtype, Output& out) {
  MT_CHECK(pivots.dtype() == DType::int32 && pivots.dim() > 0,
           "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.");
  out.prepare(with_sizes(pivots.sizes().first(size_t(pivots.dim() - 1)), {rows, rows}), dtype,
              pivots.device());
}

void linalg_solve(const Tensor& A, const Tensor& B, bool left, Output& solution, Output& LU, Output& pivots,
                  Output& info) {
  const char* name = "linalg.solve";
  check_inexact(A, name);
  check_square(A, name);
  check_same_type(A, B, name);
  MT_CHECK(B.dim() >= 1, name, ": The input tensor B must have at least 1 dimension.");
  const bool vector = is_vector_side(A, B);
  MT_CHECK(left || !vector,
           "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. "
           "In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  const int64_t n = rows_of(A), rows = vector ? B.sizes().back() : rows_of(B),
                columns = vector ? 1 : columns_of(B);
  check_sides(n, rows, columns, left, name);
  check_same_device({&A, &B});
  const IntList right = B.sizes().first(size_t(B.dim() - (vector ? 1 : 2)));
  const Dims batch = broadcast(batch_of(A), right);
  solution.prepare(vector ? with_sizes(batch, {n}) : with_sizes(batch, {rows, columns}), A.dtype(),
                   A.device());
  LU.prepare(A.sizes(), A.dtype(), A.device());
  pivots.prepare(A.sizes().first(size_t(A.dim() - 1)), DType::int32, A.device());
  info.prepare(batch_of(A), DType::int32, A.device());
}

void linalg_inverse(const Tensor& A, Output& inverse, Output& info) {
  check_square(A, "linalg.inv");
  check_inexact(A, "linalg.inv");
  inverse.prepare(A.sizes(), A.dtype(), A.device());
  info.prepare(batch_of(A), DType::int32, A.device());
}

void linalg_det(const Tensor& A, Output& determinant, Output& LU, Output& pivots) {
  check_square(A, "linalg.det");
  check_inexact(A, "linalg.det");
  determinant.prepare(batch_of(A), A.dtype(), A.device());
  LU.prepare(A.sizes(), A.dtype(), A.device());
  pivots.prepare(A.sizes().first(size_t(A.dim() - 1)), DType::int32, A.device());
}

void linalg_slogdet(const Tensor& A, Output& sign, Output& logabsdet, Output& LU, Output& pivots) {
  check_square(A, "linalg.slogdet");
  check_inexact(A, "linalg.slogdet");
  sign.prepare(batch_of(A), A.dtype(), A.device());
  logabsdet.prepare(batch_of(A), real_type(A.dtype()), A.device());
  LU.prepare(A.sizes(), A.dtype(), A.device());
  pivots.prepare(A.sizes().first(size_t(A.dim() - 1)), DType::int32, A.device());
}

void linalg_cholesky(const Tensor& self, bool, Output& L, Output& info) {
  check_square(self, "linalg.cholesky");
  check_inexact(self, "linalg.cholesky");
  L.prepare(self.sizes(), self.dtype(), self.device());
  info.prepare(batch_of(self), DType::int32, self.device());
}

void cholesky_inverse(const Tensor& self, bool, Output& out) {
  check_square(self, "cholesky_inverse");
  check_inexact(self, "cholesky_inverse");
  out.prepare(self.sizes(), self.dtype(), self.device());
}

void linalg_solve_triangular(const Tensor& A, const Tensor& B, bool, bool left, bool, Output& out) {
  const char* name = "linalg.solve_triangular";
  check_inexact(A, name);
  check_square(A, name);
  check_matrix(B, name, "B");
  check_same_type(A, B, name);
  check_sides(rows_of(A), rows_of(B), columns_of(B), left, name);
  check_same_device({&A, &B});
  const Dims batch = broadcast(batch_of(A), batch_of(B));
  out.prepare(with_sizes(batch, {rows_of(B), columns_of(B)}), B.dtype(), B.device());
}

void linalg_ldl_factor(const Tensor& self, bool, Output& LD, Output& pivots, Output& info) {
  check_square(self, "torch.linalg.ldl_factor_ex");
  check_inexact(self, "torch.linalg.ldl_factor_ex");
  LD.prepare(self.sizes(), self.dtype(), self.device());
  pivots.prepare(self.sizes().first(size_t(self.dim() - 1)), DType::int32, self.device());
  info.prepare(batch_of(self), DType::int32, self.device());
}

void linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool, Output& out) {
  const char* name = "torch.linalg.ldl_solve";
  check_inexact(LD, name);
  check_square(LD, name, "LD");
  check_matrix(B, name, "B");
  check_sides(rows_of(LD), rows_of(B), columns_of(B), true, name);
  MT_CHECK(std::ranges::equal(pivots.sizes(), LD.sizes().first(size_t(LD.dim() - 1))), name,
           ": Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
           to_string(pivots.sizes()), " instead");
  MT_CHECK(is_integral(pivots.dtype(), false), name, ": Expected pivots to be integers. Got ",
           info(pivots.dtype()).legacy);
  MT_CHECK(pivots.dtype() == DType::int32, name, ": Expected pivots to be of dtype int32. Got ",
           info(pivots.dtype()).legacy);
  MT_CHECK(LD.dtype() == B.dtype(), name, ": LD dtype ", info(LD.dtype()).name, " does not match b dtype ",
           info(B.dtype()).name);
  check_same_device({&LD, &pivots, &B});
  const Dims batch = broadcast(batch_of(LD), batch_of(B));
  out.prepare(with_sizes(batch, {rows_of(B), columns_of(B)}), B.dtype(), B.device());
}

void linalg_qr(const Tensor& A, std::string_view mode, Output& Q, Output& R) {
  check_matrix(A, "linalg.qr");
  check_inexact(A, "linalg.qr");
  MT_CHECK(mode == "reduced" || mode == "r" || mode == "complete", "qr received unrecognized mode '", mode,
           "' but expected one of 'reduced' (default), 'r', or 'complete'");
  const int64_t m = rows_of(A), inner = mode == "complete" ? m : rank_of(A);
  if (mode == "r") Q.prepare(Dims{0}, A.dtype(), A.device());
  else Q.prepare(with_sizes(batch_of(A), {m, inner}), A.dtype(), A.device());
  R.prepare(with_sizes(batch_of(A), {inner, columns_of(A)}), A.dtype(), A.device());
}

void linalg_geqrf(const Tensor& self, Output& a, Output& tau) {
  MT_CHECK(self.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
  a.prepare(self.sizes(), self.dtype(), self.device());
  tau.prepare(with_sizes(batch_of(self), {rank_of(self)}), self.dtype(), self.device());
}

void linalg_householder_product(const Tensor& input, const Tensor& tau, Output& out) {
  const char* name = "torch.linalg.householder_product";
  MT_CHECK(input.dim() >= 2, name, ": input must have at least 2 dimensions.");
  MT_CHECK(rows_of(input) >= columns_of(input), name,
           ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  MT_CHECK(input.dim() - tau.dim() == 1, name,
           ": Expected tau to have one dimension less than input, but got tau.ndim equal to ", tau.dim(),
           " and input.ndim is equal to ", input.dim());
  MT_CHECK(columns_of(input) >= tau.sizes().back(), name,
           ": input.shape[-1] must be greater than or equal to tau.shape[-1]");
  MT_CHECK(std::ranges::equal(batch_of(input), tau.sizes().first(size_t(tau.dim() - 1))), name,
           ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
           to_string(tau.sizes()));
  MT_CHECK(tau.dtype() == input.dtype(), name, ": tau dtype ", info(tau.dtype()).legacy,
           " does not match input dtype ", info(input.dtype()).legacy);
  check_same_device({&input, &tau});
  out.prepare(input.sizes(), input.dtype(), input.device());
}

void linalg_ormqr(const Tensor& self, const Tensor& tau, const Tensor& other, bool left, bool, Output& out) {
  const char* name = "torch.ormqr";
  MT_CHECK(self.dim() >= 2, name, ": input must have at least 2 dimensions.");
  MT_CHECK(other.dim() >= 2, name, ": other must have at least 2 dimensions.");
  const size_t side = size_t(other.dim() - (left ? 2 : 1));
  const int64_t size = other.sizes()[side];
  const char* side_name = left ? "-2" : "-1";
  MT_CHECK(tau.dim() >= 1 && size >= tau.sizes().back(), name, ": other.shape[", side_name,
           "] must be greater than or equal to tau.shape[-1]");
  MT_CHECK(size == rows_of(self), name, ": other.shape[", side_name, "] must be equal to input.shape[-2]");
  MT_CHECK(tau.sizes().back() == std::min(size, columns_of(self)), name,
           ": tau.shape[-1] must be equal to min(other.shape[", side_name, "], input.shape[-1])");
  MT_CHECK(self.dim() - tau.dim() == 1, name,
           ": Expected tau to have one dimension less than input, but got tau.ndim equal to ", tau.dim(),
           " and input.ndim is equal to ", self.dim());
  MT_CHECK(self.dim() == other.dim(), name,
           ": Expected other to have the same number of dimensions as input, but got other.ndim equal to ",
           other.dim(), " and input.ndim is equal to ", self.dim());
  MT_CHECK(std::ranges::equal(batch_of(self), tau.sizes().first(size_t(tau.dim() - 1))), name,
           ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ",
           to_string(tau.sizes().first(size_t(tau.dim() - 1))));
  MT_CHECK(std::ranges::equal(batch_of(self), batch_of(other)), name,
           ": Expected batch dimensions of other to be equal to input.shape[:-2], but got ",
           to_string(batch_of(other)));
  MT_CHECK(tau.dtype() == self.dtype(), name,
           ": Expected input and tau to have the same dtype, but input has dtype ", info(self.dtype()).legacy,
           " and tau has dtype ", info(tau.dtype()).legacy);
  MT_CHECK(other.dtype() == self.dtype(), name,
           ": Expected input and other to have the same dtype, but input has dtype ",
           info(self.dtype()).legacy, " and other has dtype ", info(other.dtype()).legacy);
  check_same_device({&self, &tau, &other});
  out.prepare(other.sizes(), other.dtype(), other.device());
}

void linalg_lstsq(const Tensor& A, const Tensor& B, double, std::string_view driver, Output& solution,
                  Output& rank, Output& singular_values) {
  check_matrix(A, "torch.linalg.lstsq");
  check_matrix(B, "torch.linalg.lstsq", "B");
  MT_CHECK(rows_of(A) == rows_of(B) && A.dtype() == B.dtype(),
           "torch.linalg.lstsq: input.size(-2) should match other.size(-2)");
  check_same_device({&A, &B});
  const Dims batch = broadcast(batch_of(A), batch_of(B));
  solution.prepare(with_sizes(batch, {columns_of(A), columns_of(B)}), A.dtype(), A.device());
  if (driver == "gels") rank.prepare(Dims{0}, DType::int64, A.device());
  else rank.prepare(batch, DType::int64, A.device());
  if (driver == "gelsd" || driver == "gelss")
    singular_values.prepare(with_sizes(batch, {rank_of(A)}), real_type(A.dtype()), A.device());
  else singular_values.prepare(Dims{0}, real_type(A.dtype()), A.device());
}

void linalg_svd(const Tensor& A, bool full_matrices, bool compute_uv, Output& U, Output& S, Output& Vh) {
  check_matrix(A, "linalg.svd");
  check_inexact(A, "linalg.svd", true);
  const int64_t m = rows_of(A), n = columns_of(A), k = rank_of(A);
  if (compute_uv) {
    U.prepare(with_sizes(batch_of(A), {m, full_matrices ? m : k}), A.dtype(), A.device());
    Vh.prepare(with_sizes(batch_of(A), {full_matrices ? n : k, n}), A.dtype(), A.device());
  } else {
    U.prepare(Dims{0}, A.dtype(), A.device());
    Vh.prepare(Dims{0}, A.dtype(), A.device());
  }
  S.prepare(with_sizes(batch_of(A), {k}), real_type(A.dtype()), A.device());
}

void linalg_pinv(const Tensor& A, const Tensor& atol, const Tensor& rtol, bool hermitian, Output& out) {
  MT_CHECK(A.dim() >= 2 && is_differentiable(A.dtype()) && itemsize(A.dtype()) > 2, "linalg.pinv(",
           info(A.dtype()).legacy, "{", to_string(A.sizes()),
           "}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble types");
  if (hermitian) check_square(A, "linalg.eigh");
  for (const Tensor* t : {&atol, &rtol}) {
    MT_CHECK(t->dtype() == DType::float64, "linalg.pinv: tolerances are float64 here, got ",
             info(t->dtype()).name);
    MT_CHECK(std::ranges::equal(broadcast(t->sizes(), batch_of(A)), batch_of(A)),
             "linalg.pinv: a tolerance of shape ", to_string(t->sizes()), " does not broadcast to the batch ",
             to_string(batch_of(A)));
  }
  check_same_device({&A, &atol, &rtol});
  out.prepare(with_sizes(batch_of(A), {columns_of(A), rows_of(A)}), A.dtype(), A.device());
}

void linalg_eigh(const Tensor& A, std::string_view UPLO, bool compute_v, Output& eigenvalues,
                 Output& eigenvectors) {
  check_square(A, "linalg.eigh");
  MT_CHECK(UPLO.size() == 1 && std::string_view("LUlu").find(UPLO[0]) != std::string_view::npos,
           "Expected UPLO argument to be 'L' or 'U', but got ", UPLO);
  eigenvalues.prepare(A.sizes().first(size_t(A.dim() - 1)), real_type(A.dtype()), A.device());
  if (compute_v) eigenvectors.prepare(A.sizes(), A.dtype(), A.device());
  else eigenvectors.prepare(Dims{0}, A.dtype(), A.device());
}

void linalg_eig(const Tensor& A, bool compute_v, Output& eigenvalues, Output& eigenvectors) {
  check_square(A, "linalg.eig");
  const DType dtype = complex_dtype(A.dtype());
  eigenvalues.prepare(A.sizes().first(size_t(A.dim() - 1)), dtype, A.device());
  if (compute_v) eigenvectors.prepare(A.sizes(), dtype, A.device());
  else eigenvectors.prepare(Dims{0}, dtype, A.device());
}

}  // namespace mt::infer
