// Decompositions and solves of batches of matrices. Half types are computed in float.
#include "kernels/linalg/linalg.h"

#include <cmath>

#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "op_plans.h"
#include "ops/common/temporary.h"
#include "ops/common/views.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

// The dtype that LAPACK computes in.
DType lapack_dtype(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 ? DType::float32 : dtype;
}

Operand matrices(Plan& plan, const aclTensor* tensor, const char* name, bool square) {
  const Operand in = plan.input(tensor, name);
  plan.require_dtype(in, name, domains::inexact);
  if (in.ndim < 2 || (square && in.sizes[in.ndim - 1] != in.sizes[in.ndim - 2]))
    plan.invalid("tensor '", name, "' has shape ", shape_text(in), ", wanted ", square ? "square " : "",
                 "matrices");
  return in;
}

std::vector<int64_t> batch_of(const Operand& in, std::initializer_list<int64_t> rest = {}) {
  std::vector<int64_t> sizes(in.sizes, in.sizes + in.ndim - 2);
  sizes.insert(sizes.end(), rest);
  return sizes;
}

// LAPACK's word on every matrix of a batch: 0 where all went well.
class Info {
 public:
  explicit Info(const std::vector<int64_t>& batch) : codes_(batch.data(), int(batch.size()), DType::int32) {}
  const View& view() const { return codes_.view(); }
  void check(const char* what) const {
    for (int64_t i = 0; i < view().numel(); ++i)
      MT_CHECK(view().as<int32_t>()[i] == 0, what, ", batch ", i, " (code ", view().as<int32_t>()[i], ")");
  }

 private:
  Temporary codes_;
};

// Factors of a batch of square matrices: kept as long as they are asked about.
struct Factored {
  Temporary lu, pivots;
  Info info;
  Factored(const View& a, const std::vector<int64_t>& batch)
      : lu(a, a.dtype),
        pivots(with(batch, a.sizes[a.ndim - 1]).data(), int(batch.size()) + 1, DType::int32),
        info(batch) {
    k::lu_factor(a, lu.view(), pivots.view(), info.view());
  }
  static std::vector<int64_t> with(std::vector<int64_t> batch, int64_t last) {
    batch.push_back(last);
    return batch;
  }
};

}  // namespace

void Inverse(Plan& plan, const aclTensor* self, aclTensor* out) {
  const Operand in = matrices(plan, self, "self", true), to = plan.output(out, "out");
  plan.require_same_dtype(in, "self", to, "out");
  plan.require_same_shape(in, "self", to, "out");
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs a(in.view(e), lapack_dtype(in.dtype));
    const WriteAs result(to.view(e), lapack_dtype(in.dtype));
    const Info info(batch_of(in));
    k::inverse(a.view(), result.view(), info.view());
    info.check("the matrix is singular");
    result.finish();
  });
}

void LinalgCholesky(Plan& plan, const aclTensor* self, bool upper, aclTensor* out) {
  const Operand in = matrices(plan, self, "self", true), to = plan.output(out, "out");
  plan.require_same_dtype(in, "self", to, "out");
  plan.require_same_shape(in, "self", to, "out");
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs a(in.view(e), lapack_dtype(in.dtype));
    const WriteAs result(to.view(e), lapack_dtype(in.dtype));
    const Info info(batch_of(in));
    k::cholesky(a.view(), result.view(), info.view(), upper);
    info.check("the matrix is not positive definite");
    result.finish();
  });
}

void Slogdet(Plan& plan, const aclTensor* self, aclTensor* signOut, aclTensor* logOut) {
  const Operand in = matrices(plan, self, "self", true), sign = plan.output(signOut, "signOut"),
                log = plan.output(logOut, "logOut");
  plan.require_shape(sign, "signOut", batch_of(in));
  plan.require_shape(log, "logOut", batch_of(in));
  const DType compute = lapack_dtype(in.dtype);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs a(in.view(e), compute);
    const WriteAs signs(sign.view(e), compute), logs(log.view(e), mt::real_type(compute));
    const Factored factored(a.view(), batch_of(in));
    k::lu_sign_and_log(factored.lu.view(), factored.pivots.view(), signs.view(), logs.view());
    signs.finish();
    logs.finish();
  });
}

void Logdet(Plan& plan, const aclTensor* self, aclTensor* out) {
  const Operand in = matrices(plan, self, "self", true), to = plan.output(out, "out");
  plan.require_shape(to, "out", batch_of(in));
  const DType compute = lapack_dtype(in.dtype);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs a(in.view(e), compute);
    const WriteAs result(to.view(e), compute);
    const Factored factored(a.view(), batch_of(in));
    k::lu_determinant(factored.lu.view(), factored.pivots.view(), result.view());
    k::unary<k::log_op>(result.view(), result.view());
    result.finish();
  });
}

namespace {

enum class Factors { reduced, complete, only_r };

void decompose_qr(Plan& plan, const aclTensor* self, Factors how, const aclTensor* Q, const aclTensor* R) {
  const Operand in = matrices(plan, self, "self", false), q = plan.output(Q, "Q"), r = plan.output(R, "R");
  plan.require_same_dtype(r, "R", in, "self");
  const int64_t rows = in.sizes[in.ndim - 2], columns = in.sizes[in.ndim - 1], rank = std::min(rows, columns);
  const int64_t width = how == Factors::complete ? rows : rank;
  const bool with_q = how != Factors::only_r;
  plan.require_shape(r, "R", batch_of(in, {width, columns}));
  if (with_q) {
    plan.require_same_dtype(q, "Q", in, "self");
    plan.require_shape(q, "Q", batch_of(in, {rows, width}));
  }
  const DType compute = lapack_dtype(in.dtype);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs a(in.view(e), compute);
    const WriteAs upper(r.view(e), compute);
    std::optional<WriteAs> orthogonal;
    if (with_q) orthogonal.emplace(q.view(e), compute);
    k::qr(a.view(), with_q ? &orthogonal->view() : nullptr, upper.view());
    upper.finish();
    if (with_q) orthogonal->finish();
  });
}

}  // namespace

void Qr(Plan& plan, const aclTensor* self, bool some, aclTensor* Q, aclTensor* R) {
  decompose_qr(plan, self, some ? Factors::reduced : Factors::complete, Q, R);
}
void LinalgQr(Plan& plan, const aclTensor* self, int64_t mode, aclTensor* Q, aclTensor* R) {
  if (mode < 0 || mode > 2) plan.invalid("mode is ", mode, ", wanted 0 (reduced), 1 (complete) or 2 (r)");
  decompose_qr(plan, self, Factors(mode), Q, R);
}

// v holds the right vectors as columns: the transpose of what LAPACK gives.
void Svd(Plan& plan, const aclTensor* input, const bool fullMatrices, const bool computeUV, aclTensor* sigma,
         aclTensor* u, aclTensor* v) {
  const Operand in = matrices(plan, input, "input", false), values = plan.output(sigma, "sigma"),
                left = plan.output(u, "u"), right = plan.output(v, "v");
  const int64_t rows = in.sizes[in.ndim - 2], columns = in.sizes[in.ndim - 1], rank = std::min(rows, columns);
  plan.require_shape(values, "sigma", batch_of(in, {rank}));
  if (computeUV) {
    plan.require_shape(left, "u", batch_of(in, {rows, fullMatrices ? rows : rank}));
    plan.require_shape(right, "v", batch_of(in, {columns, fullMatrices ? columns : rank}));
  }
  const DType compute = lapack_dtype(in.dtype);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs a(in.view(e), compute);
    const WriteAs s(values.view(e), mt::real_type(compute));
    if (!computeUV) {
      k::svd(a.view(), nullptr, s.view(), nullptr);
    } else {
      const Operand turned = swapped(right, right.ndim - 1, right.ndim - 2);
      const WriteAs vectors(left.view(e), compute), adjoint(turned.view(e), compute);
      k::svd(a.view(), &vectors.view(), s.view(), &adjoint.view());
      vectors.finish();
      adjoint.finish();
    }
    s.finish();
  });
}

// Solves A X = self (A^T X = self) for a triangular A; mOut is A, broadcast to the batch.
void TriangularSolve(Plan& plan, const aclTensor* self, const aclTensor* A, bool upper, bool transpose,
                     bool unitriangular, aclTensor* xOut, aclTensor* mOut) {
  const Operand b = matrices(plan, self, "self", false), a = matrices(plan, A, "A", true),
                x = plan.output(xOut, "xOut"), copy = plan.output(mOut, "mOut");
  plan.require_same_dtype(a, "A", b, "self");
  plan.require_same_dtype(x, "xOut", b, "self");
  plan.require_same_dtype(copy, "mOut", b, "self");
  if (x.ndim < 2 || x.sizes[x.ndim - 2] != b.sizes[b.ndim - 2] ||
      x.sizes[x.ndim - 1] != b.sizes[b.ndim - 1] || a.sizes[a.ndim - 1] != b.sizes[b.ndim - 2])
    plan.invalid("shapes ", shape_text(a), " and ", shape_text(b), " do not solve to ", shape_text(x));
  int64_t sizes[kMaxDims];
  std::copy(x.sizes, x.sizes + x.ndim, sizes);
  sizes[x.ndim - 2] = sizes[x.ndim - 1] = a.sizes[a.ndim - 1];
  const Operand right = broadcast_to(plan, b, "self", x), matrix = broadcast_to(plan, a, "A", sizes, x.ndim);
  plan.require_same_shape(copy, "mOut", matrix, "A");
  const Operand used = transpose ? swapped(matrix, x.ndim - 1, x.ndim - 2) : matrix;
  const DType compute = lapack_dtype(b.dtype);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs left(used.view(e), compute), known(right.view(e), compute);
    const WriteAs result(x.view(e), compute);
    k::solve_triangular(left.view(), known.view(), result.view(), upper != transpose, true, unitriangular);
    result.finish();
    k::copy(matrix.view(e), copy.view(e));
  });
}

}  // namespace softnpu::ops
