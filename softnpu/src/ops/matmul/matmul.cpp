// Matrix products.
#include "kernels/matmul/matmul.h"

#include "kernels/common/copy.h"
#include "op_plans.h"
#include "ops/common/temporary.h"
#include "ops/matmul/product.h"

namespace softnpu::ops {

namespace k = mt::kernels;

namespace {

void require_dtypes(const Plan& plan, const Operand& a, const char* name, const Operand& b,
                    const Operand& out) {
  // A product without elements needs no kernel, so that (as on the CPU) it may be of any dtype.
  if (out.numel() != 0) plan.require_dtype(a, name, domains::numeric);
  if (a.dtype != b.dtype || a.dtype != out.dtype)
    plan.invalid("the matrices are ", mt::info(a.dtype).name, " and ", mt::info(b.dtype).name,
                 " and the result is ", mt::info(out.dtype).name, "; they must be the same");
}

void require_product(const Plan& plan, const Operand& a, const Operand& b, const Operand& out) {
  const int n = a.ndim;
  if (a.sizes[n - 1] != b.sizes[n - 2])
    plan.invalid("shapes ", shape_text(a), " and ", shape_text(b), " cannot be multiplied: ", a.sizes[n - 1],
                 " columns, ", b.sizes[n - 2], " rows");
  if (n == 3 && a.sizes[0] != b.sizes[0])
    plan.invalid("batches of ", a.sizes[0], " and ", b.sizes[0], " matrices");
  std::vector<int64_t> wanted(a.sizes, a.sizes + n - 1);
  wanted.push_back(b.sizes[n - 1]);
  plan.require_shape(out, "out", wanted);
}

// A factor in the memory of the result is copied first, because the product is written as it is made.
class Factor {
 public:
  Factor(const Operand& operand, const Operand& out, const aclOpExecutor& e) : view_(operand.view(e)) {
    if (e.slot(operand.slot).address != e.slot(out.slot).address || view_.numel() == 0) return;
    copy_.emplace(view_, view_.dtype);
    k::copy(view_, copy_->view());
    view_ = copy_->view();
  }
  const View& view() const { return view_; }

 private:
  View view_;
  std::optional<Temporary> copy_;
};

void multiply(const Product& product, const aclOpExecutor& e) {
  const View result = product.out.view(e);
  const Factor a(product.a, product.out, e), b(product.b, product.out, e);
  const bool add = product.self && !product.beta.equals(0);  // with beta 0, NaN in self must not matter
  if (add) k::copy(product.self->view(e), result);
  const Scalar keep = add ? product.beta : Scalar(0);
  if (product.out.ndim == 2) k::gemm(a.view(), b.view(), result, product.alpha, keep);
  else k::bmm(a.view(), b.view(), result, product.alpha, keep);
}

void plain_product(Plan& plan, const aclTensor* self, const aclTensor* mat2, const aclTensor* out, int ndim,
                   int8_t cubeMathType) {
  require_cube_math_type(plan, cubeMathType);
  Product product;
  product.a_name = "self";
  product.a = plan.input(self, "self");
  product.b = plan.input(mat2, "mat2");
  product.out = plan.output(out, "out");
  plan.require_ndim(product.a, "self", ndim);
  product.run(plan);
}

void added_product(Plan& plan, const aclTensor* self, const aclTensor* mat1, const aclTensor* mat2,
                   const aclScalar* beta, const aclScalar* alpha, const aclTensor* out, int ndim,
                   int8_t cubeMathType) {
  require_cube_math_type(plan, cubeMathType);
  Product product;
  product.self = out == nullptr ? plan.output(self, "selfRef") : plan.input(self, "self");
  product.a = plan.input(mat1, "mat1");
  product.b = plan.input(mat2, "mat2");
  product.out = out == nullptr ? *product.self : plan.output(out, "out");
  product.alpha = plan.scalar(alpha, "alpha");
  product.beta = plan.scalar(beta, "beta");
  plan.require_ndim(product.a, "mat1", ndim);
  product.run(plan);
}

// Out-of-place operators must be given a result; NULL means in place only inside this file.
const aclTensor* required(Plan& plan, const aclTensor* out) {
  if (out == nullptr) plan.output(out, "out");
  return out;
}

}  // namespace

void Product::run(Plan& plan) const {
  plan.require_ndim(b, "mat2", a.ndim);
  require_dtypes(plan, a, a_name, b, out);
  require_product(plan, a, b, out);
  if (self) plan.require_broadcast(*self, "self", out);
  plan.run([product = *this](const aclOpExecutor& e) { multiply(product, e); });
}

void require_cube_math_type(const Plan& plan, int8_t cubeMathType) {
  if (cubeMathType < 0 || cubeMathType > 3)
    plan.invalid("cubeMathType is ", int(cubeMathType), ", wanted 0 to 3");
}

Operand as_row(const Plan& plan, const Operand& vector, const char* name) {
  plan.require_ndim(vector, name, 1);
  return with_dim(plan, vector, 0, 1, vector.sizes[0] * vector.strides[0]);
}
Operand as_column(const Plan& plan, const Operand& vector, const char* name) {
  plan.require_ndim(vector, name, 1);
  return with_dim(plan, vector, 1, 1, 1);
}

void Mm(Plan& plan, const aclTensor* self, const aclTensor* mat2, aclTensor* out, int8_t cubeMathType) {
  plain_product(plan, self, mat2, out, 2, cubeMathType);
}

// Private formats hold plain data here, so that the WeightNz forms are the plain ones.
void BatchMatMul(Plan& plan, const aclTensor* self, const aclTensor* mat2, aclTensor* out,
                 int8_t cubeMathType) {
  plain_product(plan, self, mat2, out, 3, cubeMathType);
}
void BatchMatMulWeightNz(Plan& plan, const aclTensor* self, const aclTensor* mat2, aclTensor* out,
                         int8_t cubeMathType) {
  plain_product(plan, self, mat2, out, 3, cubeMathType);
}

void Addmm(Plan& plan, const aclTensor* self, const aclTensor* mat1, const aclTensor* mat2,
           const aclScalar* beta, const aclScalar* alpha, aclTensor* out, int8_t cubeMathType) {
  added_product(plan, self, mat1, mat2, beta, alpha, required(plan, out), 2, cubeMathType);
}
void AddmmWeightNz(Plan& plan, const aclTensor* self, const aclTensor* mat1, const aclTensor* mat2,
                   const aclScalar* beta, const aclScalar* alpha, aclTensor* out, int8_t cubeMathType) {
  added_product(plan, self, mat1, mat2, beta, alpha, required(plan, out), 2, cubeMathType);
}
void InplaceAddmm(Plan& plan, const aclTensor* selfRef, const aclTensor* mat1, const aclTensor* mat2,
                  const aclScalar* beta, const aclScalar* alpha, int8_t cubeMathType) {
  added_product(plan, selfRef, mat1, mat2, beta, alpha, nullptr, 2, cubeMathType);
}

void Baddbmm(Plan& plan, const aclTensor* self, const aclTensor* batch1, const aclTensor* batch2,
             const aclScalar* beta, const aclScalar* alpha, aclTensor* out, int8_t cubeMathType) {
  added_product(plan, self, batch1, batch2, beta, alpha, required(plan, out), 3, cubeMathType);
}
void InplaceBaddbmm(Plan& plan, const aclTensor* selfRef, const aclTensor* batch1, const aclTensor* batch2,
                    const aclScalar* beta, const aclScalar* alpha, int8_t cubeMathType) {
  added_product(plan, selfRef, batch1, batch2, beta, alpha, nullptr, 3, cubeMathType);
}

namespace {

// Makes a vector a matrix: a row on the left side, a column on the right.
Operand as_matrix(const Operand& operand, bool left) {
  Operand matrix = operand;
  if (operand.ndim != 1) return matrix;
  matrix.ndim = 2;
  const int own = left ? 1 : 0;
  matrix.sizes[own] = operand.sizes[0], matrix.strides[own] = operand.strides[0];
  matrix.sizes[1 - own] = 1, matrix.strides[1 - own] = operand.sizes[0] * operand.strides[0];
  return matrix;
}

// Inserts the dimensions of size 1 that vectors on either side took away from the result.
Operand result_matrix(const Operand& out, bool left_vector, bool right_vector) {
  Operand matrix = out;
  auto insert = [&](int at) {
    for (int i = matrix.ndim; i > at; --i)
      matrix.sizes[i] = matrix.sizes[i - 1], matrix.strides[i] = matrix.strides[i - 1];
    matrix.sizes[at] = 1, matrix.strides[at] = 1;
    ++matrix.ndim;
  };
  if (right_vector) insert(matrix.ndim);
  if (left_vector) insert(matrix.ndim - 1);
  return matrix;
}

// Every matrix of the result from the matrices of both sides that broadcast to it.
struct BroadcastProduct {
  Operand a, b, out;

  static int64_t offset(const Operand& operand, int batch_dims, const int64_t* index) {
    int64_t elements = 0;
    const int own = operand.ndim - 2;
    for (int i = 0; i < own; ++i) {
      const int64_t at = index[batch_dims - own + i];
      if (operand.sizes[i] != 1) elements += at * operand.strides[i];
    }
    return elements * int64_t(mt::itemsize(operand.dtype));
  }

  void operator()(const aclOpExecutor& e) const {
    const int batch_dims = out.ndim - 2;
    int64_t count = 1;
    for (int i = 0; i < batch_dims; ++i) count *= out.sizes[i];
    for (int64_t n = 0; n < count; ++n) {
      int64_t index[kMaxDims], rest = n;
      for (int i = batch_dims - 1; i >= 0; --i) index[i] = rest % out.sizes[i], rest /= out.sizes[i];
      auto matrix = [&](const Operand& operand) {
        const View whole = operand.view(e);
        const int skip = operand.ndim - 2;
        return View{static_cast<char*>(whole.data) + offset(operand, batch_dims, index), whole.sizes + skip,
                    whole.strides + skip, 2, whole.dtype};
      };
      k::gemm(matrix(a), matrix(b), matrix(out), Scalar(int64_t(1)), Scalar(int64_t(0)));
    }
  }
};

void broadcast_product(Plan& plan, const aclTensor* self, const aclTensor* mat2, const aclTensor* out,
                       int8_t cubeMathType) {
  require_cube_math_type(plan, cubeMathType);
  const Operand left = plan.input(self, "self"), right = plan.input(mat2, "mat2"),
                to = plan.output(out, "out");
  if (left.ndim == 0 || right.ndim == 0) plan.invalid("a scalar cannot be multiplied as a matrix");
  require_dtypes(plan, left, "self", right, to);
  BroadcastProduct product{as_matrix(left, true), as_matrix(right, false), {}};
  const Operand &a = product.a, &b = product.b;
  const int taken = (left.ndim == 1) + (right.ndim == 1);
  if (to.ndim + taken > kMaxDims || to.ndim + taken < 2) plan.invalid("'out' has shape ", shape_text(to));
  product.out = result_matrix(to, left.ndim == 1, right.ndim == 1);
  const Operand& c = product.out;
  bool fits = c.ndim == std::max(a.ndim, b.ndim) && a.sizes[a.ndim - 1] == b.sizes[b.ndim - 2] &&
              c.sizes[c.ndim - 2] == a.sizes[a.ndim - 2] && c.sizes[c.ndim - 1] == b.sizes[b.ndim - 1];
  for (int i = 3; fits && i <= c.ndim; ++i) {
    const int64_t in_a = i <= a.ndim ? a.sizes[a.ndim - i] : 1, in_b = i <= b.ndim ? b.sizes[b.ndim - i] : 1;
    fits = (in_a == in_b || in_a == 1 || in_b == 1) && c.sizes[c.ndim - i] == (in_a == 1 ? in_b : in_a);
  }
  if (!fits)
    plan.invalid("shapes ", shape_text(left), " and ", shape_text(right), " do not multiply to ",
                 shape_text(to));
  plan.run(product);
}

}  // namespace

void Matmul(Plan& plan, const aclTensor* self, const aclTensor* mat2, aclTensor* out, int8_t cubeMathType) {
  broadcast_product(plan, self, mat2, out, cubeMathType);
}
void MatmulWeightNz(Plan& plan, const aclTensor* self, const aclTensor* mat2, aclTensor* out,
                    int8_t cubeMathType) {
  broadcast_product(plan, self, mat2, out, cubeMathType);
}

}  // namespace softnpu::ops
