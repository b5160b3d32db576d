// What follows from singular values, and reflections, made of the decompositions that a device has.
#include "generated/ops/compositions.h"
#include "generated/ops/ops.h"
#include "infer/infer.h"

namespace mt::composition {
namespace {

IntList batch_of(const Tensor& t) { return t.sizes().first(size_t(t.dim()) - 2); }
Dims with_sizes(IntList batch, std::initializer_list<int64_t> last) {
  Dims sizes(batch);
  for (int64_t size : last) sizes.push_back(size);
  return sizes;
}
Tensor adjoint_of(const Tensor& t) { return ops::conj_physical(ops::transpose(t, -2, -1)); }

// The hermitian matrix that one of the triangles stands for.
Tensor from_triangle(const Tensor& A, bool upper) {
  const Tensor rest = upper ? ops::triu(A, 1) : ops::tril(A, -1);
  return ops::add(upper ? ops::triu(A) : ops::tril(A), adjoint_of(rest));
}

// V 1/S U^H, without the singular values up to `limit`.
Tensor inverse_of_parts(const Tensor& U, const Tensor& S, const Tensor& Vh, const Tensor& limit) {
  const Tensor inverse = ops::where(ops::gt(S, limit), ops::reciprocal(S), Scalar(0));
  return ops::matmul(ops::mul(adjoint_of(Vh), ops::unsqueeze(inverse, -2)), adjoint_of(U));
}

// Column `k` of reflections as LAPACK stores them: ones on the diagonal, which it leaves out.
Tensor unit_columns(const Tensor& reflections) {
  const TensorOptions options{reflections.dtype(), reflections.device()};
  const Tensor ones = ops::eye(reflections.size(-2), reflections.size(-1), options);
  return ops::add(ops::tril(reflections, -1), ones);
}
Tensor reflected(const Tensor& matrix, const Tensor& unit, const Tensor& tau, int64_t k) {
  const Tensor v = ops::narrow(unit, -1, k, 1);
  const Tensor scaled = ops::mul(v, ops::unsqueeze(ops::narrow(tau, -1, k, 1), -1));
  return ops::sub(matrix, ops::matmul(scaled, ops::matmul(adjoint_of(v), matrix)));
}

}  // namespace

// The singular values of a hermitian matrix are the sizes of its eigenvalues.
Tensor pinv(const Tensor& A, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  if (A.numel() == 0)
    return ops::zeros(with_sizes(batch_of(A), {A.size(-1), A.size(-2)}), {A.dtype(), A.device()});
  const auto [U, S, Vh] = ops::_linalg_svd(hermitian ? from_triangle(A, false) : A, false, true);
  const Tensor limit = ops::maximum(atol, ops::mul(rtol, ops::select(S, -1, 0)));
  return inverse_of_parts(U, S, Vh, ops::unsqueeze(limit, -1));
}

// A shift by its norm makes the matrix positive, and the singular values its eigenvalues, the largest first.
std::tuple<Tensor, Tensor> eigh(const Tensor& A, std::string_view UPLO, bool compute_v) {
  MT_CHECK_AS(not_implemented, !is_complex(A.dtype()), "linalg.eigh: complex matrices are not supported on ",
              to_string(A.device()), ". Use x.cpu().");
  const Tensor whole = from_triangle(A, UPLO == "U" || UPLO == "u");
  const int64_t side = A.size(-1);
  const Tensor none = ops::zeros(Dims{0}, {A.dtype(), A.device()});
  if (A.numel() == 0)
    return {ops::zeros(A.sizes().first(size_t(A.dim()) - 1), {A.dtype(), A.device()}), compute_v ? A : none};
  const Tensor norm = ops::amax(ops::sum(ops::abs(whole), DimList(-1)), DimList(-1), true);
  const Tensor shift = ops::mul(ops::eye(side, {A.dtype(), A.device()}), ops::unsqueeze(norm, -1));
  const auto [U, S, Vh] = ops::_linalg_svd(ops::add(whole, shift), false, true);
  const Tensor values = ops::flip(ops::sub(S, norm), Dims{-1});
  return {values, compute_v ? ops::flip(U, Dims{-1}) : none};
}

std::tuple<Tensor, Tensor, Tensor> lstsq(const Tensor& A, const Tensor& B, double rcond,
                                         std::string_view driver) {
  const TensorOptions options{A.dtype(), A.device()};
  const Dims batch = infer::broadcast(batch_of(A), batch_of(B));
  const auto [U, S, Vh] =
      ops::_linalg_svd(ops::expand(A, with_sizes(batch, {A.size(-2), A.size(-1)})), false, true);
  const Tensor limit = ops::mul(ops::narrow(S, -1, 0, std::min<int64_t>(1, S.size(-1))), Scalar(rcond));
  const Tensor rank = ops::sum(ops::gt(S, limit), DimList(-1));
  const Tensor solution = ops::matmul(inverse_of_parts(U, S, Vh, limit), B);
  const bool with_values = driver == "gelsd" || driver == "gelss";
  return {solution, driver == "gels" ? ops::zeros(Dims{0}, {DType::int64, A.device()}) : rank,
          with_values ? S : ops::zeros(Dims{0}, {S.dtype(), A.device()})};
}

Tensor householder_product(const Tensor& input, const Tensor& tau) {
  const TensorOptions options{input.dtype(), input.device()};
  const Tensor unit = unit_columns(input);
  Tensor Q = ops::expand(ops::eye(input.size(-2), input.size(-1), options), input.sizes());
  for (int64_t k = tau.size(-1) - 1; k >= 0; --k) Q = reflected(Q, unit, tau, k);
  return Q;
}

Tensor ormqr(const Tensor& self, const Tensor& tau, const Tensor& other, bool left, bool transpose) {
  if (!left) return adjoint_of(ormqr(self, tau, adjoint_of(other), true, !transpose));
  const Tensor unit = unit_columns(self), factors = transpose ? ops::conj_physical(tau) : tau;
  const int64_t count = tau.size(-1);
  Tensor result = other;
  for (int64_t k = 0; k < count; ++k)
    result = reflected(result, unit, factors, transpose ? k : count - 1 - k);
  return result;
}

// LAPACK's reflections: v = x / (alpha - beta) from its second entry on, where beta has x's length and not alpha's sign.
std::tuple<Tensor, Tensor> geqrf(const Tensor& self) {
  MT_CHECK_AS(not_implemented, !is_complex(self.dtype()), "geqrf: complex matrices are not supported on ",
              to_string(self.device()), ". Use x.cpu().");
  const int64_t rows = self.size(-2), columns = self.size(-1), count = std::min(rows, columns);
  const Tensor tau = ops::zeros(with_sizes(batch_of(self), {count}), {self.dtype(), self.device()});
  Tensor a = ops::clone(self, MemoryFormat::contiguous);
  for (int64_t k = 0; k + 1 < rows && k < columns; ++k) {
    const Tensor column = ops::select(ops::narrow(a, -2, k, rows - k), -1, k);
    const Tensor alpha = ops::narrow(column, -1, 0, 1), rest = ops::narrow(column, -1, 1, rows - k - 1);
    const Tensor squares = ops::sum(ops::mul(rest, rest), DimList(-1), true);
    const Tensor done = ops::eq(squares, Scalar(0));
    const Tensor length = ops::sqrt(ops::add(ops::mul(alpha, alpha), squares));
    const Tensor beta = ops::where(ops::lt(alpha, Scalar(0)), length, ops::neg(length));
    const Tensor divisor = ops::where(done, Scalar(1), ops::sub(alpha, beta));
    const Tensor factor =
        ops::where(done, Scalar(0), ops::div(ops::sub(beta, alpha), ops::where(done, Scalar(1), beta)));
    const Tensor v =
        ops::unsqueeze(ops::cat(std::array{ops::ones_like(alpha), ops::div(rest, divisor)}, -1), -1);
    const Tensor right = ops::narrow(ops::narrow(a, -2, k, rows - k), -1, k + 1, columns - k - 1);
    const Tensor scaled = ops::mul(v, ops::unsqueeze(factor, -1));
    if (k + 1 < columns)
      ops::copy_(right, ops::sub(right, ops::matmul(scaled, ops::matmul(adjoint_of(v), right))));
    ops::copy_(rest, ops::div(rest, divisor));
    ops::copy_(alpha, ops::where(done, alpha, beta));
    ops::copy_(ops::narrow(tau, -1, k, 1), factor);
  }
  return {a, tau};
}

}  // namespace mt::composition
