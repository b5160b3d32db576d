// Products with vectors and of vectors, sums of products, and products with their dimensions in another order.
#include "kernels/common/copy.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"
#include "kernels/matmul/cross.h"
#include "kernels/matmul/matmul.h"
#include "op_plans.h"
#include "ops/common/temporary.h"
#include "ops/matmul/product.h"

namespace softnpu::ops {

namespace k = mt::kernels;

void Mv(Plan& plan, const aclTensor* self, const aclTensor* vec, aclTensor* out, int8_t cubeMathType) {
  require_cube_math_type(plan, cubeMathType);
  Product product;
  product.a = plan.input(self, "self");
  product.b = as_column(plan, plan.input(vec, "vec"), "vec");
  product.out = as_column(plan, plan.output(out, "out"), "out");
  product.run(plan);
}

void Addmv(Plan& plan, const aclTensor* self, const aclTensor* mat, const aclTensor* vec,
           const aclScalar* alpha, const aclScalar* beta, aclTensor* out, int8_t cubeMathType) {
  require_cube_math_type(plan, cubeMathType);
  Product product;
  const Operand added = plan.input(self, "self");
  product.a = plan.input(mat, "mat");
  product.b = as_column(plan, plan.input(vec, "vec"), "vec");
  product.out = as_column(plan, plan.output(out, "out"), "out");
  product.self = added.ndim == 0 ? added : as_column(plan, added, "self");
  product.alpha = plan.scalar(alpha, "alpha");
  product.beta = plan.scalar(beta, "beta");
  product.run(plan);
}

void Dot(Plan& plan, const aclTensor* self, const aclTensor* tensor, aclTensor* out) {
  Product product;
  product.a = as_row(plan, plan.input(self, "self"), "self");
  product.b = as_column(plan, plan.input(tensor, "tensor"), "tensor");
  product.out = single_element(plan, plan.output(out, "out"), "out");
  for (int i = 0; i < 2; ++i) product.out = with_dim(plan, product.out, 0, 1, 1);
  product.run(plan);
}

void Ger(Plan& plan, const aclTensor* self, const aclTensor* vec2, aclTensor* out) {
  Product product;
  product.a = as_column(plan, plan.input(self, "self"), "self");
  product.b = as_row(plan, plan.input(vec2, "vec2"), "vec2");
  product.out = plan.output(out, "out");
  product.run(plan);
}

namespace {

// beta * self + alpha * vec1 vec2^T, in the result's dtype. A number that is NULL is 1.
void add_outer(Plan& plan, const aclTensor* self, const aclTensor* vec1, const aclTensor* vec2,
               const aclScalar* beta, const aclScalar* alpha, const aclTensor* out, bool in_place) {
  const Operand added = in_place ? plan.output(self, "selfRef") : plan.input(self, "self");
  const Operand left = as_column(plan, plan.input(vec1, "vec1"), "vec1"),
                right = as_row(plan, plan.input(vec2, "vec2"), "vec2"),
                to = in_place ? added : plan.output(out, "out");
  const Scalar keep = beta == nullptr ? Scalar(1) : plan.scalar(beta, "beta"),
               scale = alpha == nullptr ? Scalar(1) : plan.scalar(alpha, "alpha");
  plan.require_dtype(to, "out", domains::numeric);
  plan.require_shape(to, "out", {left.sizes[0], right.sizes[1]});
  plan.require_broadcast(added, "self", to);
  plan.run([=](const aclOpExecutor& e) {
    const ReadAs a(left.view(e), to.dtype, false), b(right.view(e), to.dtype, false);
    const View result = to.view(e);
    const bool add = !keep.equals(0);
    if (add && added.slot != to.slot) k::copy(added.view(e), result);
    k::gemm(a.view(), b.view(), result, scale, add ? keep : Scalar(0));
  });
}

// All products of a batch add up: one product of matrices as wide as the batch is deep.
void add_batch(Plan& plan, const aclTensor* self, const aclTensor* batch1, const aclTensor* batch2,
               const aclScalar* beta, const aclScalar* alpha, const aclTensor* out, bool in_place,
               int8_t cubeMathType) {
  require_cube_math_type(plan, cubeMathType);
  const Operand added = in_place ? plan.output(self, "selfRef") : plan.input(self, "self"),
                left = plan.input(batch1, "batch1"), right = plan.input(batch2, "batch2"),
                to = in_place ? added : plan.output(out, "out");
  const Scalar keep = plan.scalar(beta, "beta"), scale = plan.scalar(alpha, "alpha");
  plan.require_ndim(left, "batch1", 3);
  plan.require_ndim(right, "batch2", 3);
  plan.require_dtype(to, "out", domains::numeric);
  plan.require_same_dtype(left, "batch1", to, "out");
  plan.require_same_dtype(right, "batch2", to, "out");
  if (left.sizes[0] != right.sizes[0] || left.sizes[2] != right.sizes[1])
    plan.invalid("shapes ", shape_text(left), " and ", shape_text(right), " cannot be multiplied");
  plan.require_shape(to, "out", {left.sizes[1], right.sizes[2]});
  plan.require_broadcast(added, "self", to);
  plan.run([=](const aclOpExecutor& e) {
    const Operand turned = swapped(left, 0, 1);  // [rows, batch, columns]
    const ReadAs a = dense_input(turned.view(e)), b = dense_input(right.view(e));
    const int64_t depth = left.sizes[0] * left.sizes[2], rows = to.sizes[0], columns = to.sizes[1];
    const int64_t a_sizes[] = {rows, depth}, a_strides[] = {depth, 1}, b_sizes[] = {depth, columns},
                  b_strides[] = {columns, 1};
    const View result = to.view(e);
    const bool add = !keep.equals(0);
    if (add && added.slot != to.slot) k::copy(added.view(e), result);
    k::gemm({a.view().data, a_sizes, a_strides, 2, to.dtype},
            {b.view().data, b_sizes, b_strides, 2, to.dtype}, result, scale, add ? keep : Scalar(0));
  });
}

}  // namespace

void Addr(Plan& plan, const aclTensor* self, const aclTensor* vec1, const aclTensor* vec2,
          const aclScalar* betaOptional, const aclScalar* alphaOptional, aclTensor* out) {
  add_outer(plan, self, vec1, vec2, betaOptional, alphaOptional, out, false);
}
void AddrV2(Plan& plan, const aclTensor* self, const aclTensor* vec1, const aclTensor* vec2,
            const aclScalar* betaOptional, const aclScalar* alphaOptional, aclTensor* out) {
  add_outer(plan, self, vec1, vec2, betaOptional, alphaOptional, out, false);
}
void InplaceAddr(Plan& plan, aclTensor* selfRef, const aclTensor* vec1, const aclTensor* vec2,
                 const aclScalar* betaOptional, const aclScalar* alphaOptional) {
  add_outer(plan, selfRef, vec1, vec2, betaOptional, alphaOptional, nullptr, true);
}
void InplaceAddrV2(Plan& plan, aclTensor* selfRef, const aclTensor* vec1, const aclTensor* vec2,
                   const aclScalar* betaOptional, const aclScalar* alphaOptional) {
  add_outer(plan, selfRef, vec1, vec2, betaOptional, alphaOptional, nullptr, true);
}

void Addbmm(Plan& plan, const aclTensor* self, const aclTensor* batch1, const aclTensor* batch2,
            const aclScalar* beta, const aclScalar* alpha, aclTensor* out, int8_t cubeMathType) {
  add_batch(plan, self, batch1, batch2, beta, alpha, out, false, cubeMathType);
}
void InplaceAddbmm(Plan& plan, aclTensor* selfRef, const aclTensor* batch1, const aclTensor* batch2,
                   const aclScalar* beta, const aclScalar* alpha, int8_t cubeMathType) {
  add_batch(plan, selfRef, batch1, batch2, beta, alpha, nullptr, true, cubeMathType);
}

void Gemm(Plan& plan, const aclTensor* A, const aclTensor* B, const aclTensor* C, float alpha, float beta,
          int64_t transA, int64_t transB, aclTensor* out, int8_t cubeMathType) {
  require_cube_math_type(plan, cubeMathType);
  Product product;
  const Operand a = plan.input(A, "A"), b = plan.input(B, "B");
  plan.require_ndim(a, "A", 2);
  plan.require_ndim(b, "B", 2);
  product.a = transA != 0 ? swapped(a, 0, 1) : a;
  product.b = transB != 0 ? swapped(b, 0, 1) : b;
  product.self = plan.input(C, "C");
  product.out = plan.output(out, "out");
  product.alpha = Scalar(double(alpha));
  product.beta = Scalar(double(beta));
  product.run(plan);
}

namespace {

Operand turned(const Plan& plan, const Operand& in, const aclIntArray* perm, const char* name) {
  const std::vector<int64_t> dims = plan.integers(perm, name);
  plan.require_ndim(in, name, 3);
  if (dims.size() != 3) plan.invalid("'", name, "' has ", dims.size(), " entries, wanted 3");
  Operand result = in;
  bool used[3] = {};
  for (int i = 0; i < 3; ++i) {
    const int from = plan.dim(dims[size_t(i)], in);
    if (std::exchange(used[from], true)) plan.invalid("'", name, "' is no permutation");
    result.sizes[i] = in.sizes[from], result.strides[i] = in.strides[from];
  }
  return result;
}

// Both factors are turned to [batch, rows, columns]; the result lies as [rows, batch, columns], or with its batch split
// into groups as [groups, rows, batch / groups * columns].
void transposed_product(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* bias,
                        const aclTensor* scale, const aclIntArray* permX1, const aclIntArray* permX2,
                        const aclIntArray* permY, int8_t cubeMathType, int32_t groups, const aclTensor* out) {
  require_cube_math_type(plan, cubeMathType);
  const Operand a = turned(plan, plan.input(x1, "x1"), permX1, "permX1"),
                b = turned(plan, plan.input(x2, "x2"), permX2, "permX2");
  if (plan.optional_input(bias, "bias") || plan.optional_input(scale, "scale"))
    plan.invalid("bias and scale are not supported, wanted NULL");
  const Operand to = plan.output(out, "out");
  if (plan.integers(permY, "permY") != std::vector<int64_t>{1, 0, 2}) plan.invalid("permY must be {1, 0, 2}");
  const int64_t batch = a.sizes[0], rows = a.sizes[1], columns = b.sizes[2];
  if (groups < 1 || batch % groups != 0)
    plan.invalid("batchSplitFactor is ", groups, " for a batch of ", batch);
  plan.require_ndim(to, "out", 3);
  const int64_t each = batch / groups;
  if (groups == 1) {
    Product product;
    product.a = a, product.b = b, product.out = swapped(to, 0, 1);
    return product.run(plan);
  }
  plan.require_shape(to, "out", {groups, rows, each * columns});
  plan.require_dtype(to, "out", domains::numeric);
  plan.require_same_dtype(a, "x1", to, "out");
  plan.require_same_dtype(b, "x2", to, "out");
  if (b.sizes[0] != batch || b.sizes[1] != a.sizes[2])
    plan.invalid("shapes ", shape_text(a), " and ", shape_text(b), " cannot be multiplied");
  plan.run([=](const aclOpExecutor& e) {
    for (int64_t g = 0; g < groups; ++g) {
      Operand part = sliced(to, 0, g, 1);  // [each, rows, columns]
      part.sizes[0] = each, part.sizes[2] = columns;
      part.strides[0] = columns * to.strides[2];
      const Operand left = sliced(a, 0, g * each, each), right = sliced(b, 0, g * each, each);
      k::bmm(left.view(e), right.view(e), part.view(e), Scalar(1), Scalar(0));
    }
  });
}

}  // namespace

void TransposeBatchMatMul(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* bias,
                          const aclTensor* scale, const aclIntArray* permX1, const aclIntArray* permX2,
                          const aclIntArray* permY, int8_t cubeMathType, const int32_t batchSplitFactor,
                          aclTensor* out) {
  transposed_product(plan, x1, x2, bias, scale, permX1, permX2, permY, cubeMathType, batchSplitFactor, out);
}
void TransposeBatchMatMulWeightNz(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* bias,
                                  const aclTensor* scale, const aclIntArray* permX1,
                                  const aclIntArray* permX2, const aclIntArray* permY, int8_t cubeMathType,
                                  const int32_t batchSplitFactor, aclTensor* out) {
  transposed_product(plan, x1, x2, bias, scale, permX1, permX2, permY, cubeMathType, batchSplitFactor, out);
}

// x1 @ x2 + bias, and what fusedOpType says with it: nothing, relu, or x3 added or multiplied.
void FusedMatmul(Plan& plan, const aclTensor* x1, const aclTensor* x2, const aclTensor* bias,
                 const aclTensor* x3, const char* fusedOpType, int8_t cubeMathType, const aclTensor* y) {
  require_cube_math_type(plan, cubeMathType);
  const Operand a = plan.input(x1, "x1"), b = plan.input(x2, "x2");
  const std::optional<Operand> shift = plan.optional_input(bias, "bias"),
                               other = plan.optional_input(x3, "x3");
  const Operand to = plan.output(y, "y");
  const std::string_view how = fusedOpType == nullptr ? "" : fusedOpType;
  if (how != "" && how != "relu" && how != "add" && how != "mul")
    plan.invalid("fusedOpType is '", how, "', wanted '', 'relu', 'add' or 'mul'");
  const bool adds = how == "add", multiplies = how == "mul", clips = how == "relu";
  if ((adds || multiplies) != other.has_value()) plan.invalid("x3 belongs to fusedOpType 'add' and 'mul'");
  plan.require_dtype(to, "y", domains::floating);
  plan.require_same_dtype(a, "x1", to, "y");
  plan.require_same_dtype(b, "x2", to, "y");
  if ((a.ndim != 2 && a.ndim != 3) || b.ndim != a.ndim || a.sizes[a.ndim - 1] != b.sizes[a.ndim - 2] ||
      (a.ndim == 3 && a.sizes[0] != b.sizes[0]))
    plan.invalid("shapes ", shape_text(a), " and ", shape_text(b), " cannot be multiplied");
  std::vector<int64_t> wanted(a.sizes, a.sizes + a.ndim - 1);
  wanted.push_back(b.sizes[a.ndim - 1]);
  plan.require_shape(to, "y", wanted);
  if (shift) plan.require_broadcast(*shift, "bias", to);
  if (other) plan.require_broadcast(*other, "x3", to);
  plan.run([=](const aclOpExecutor& e) {
    const View result = to.view(e);
    if (shift) k::copy(shift->view(e), result);
    const Scalar one(1), keep(shift ? 1 : 0);
    if (to.ndim == 2) k::gemm(a.view(e), b.view(e), result, one, keep);
    else k::bmm(a.view(e), b.view(e), result, one, keep);
    if (adds) k::binary<k::add_op>(result, other->view(e), result, to.dtype, &one);
    if (multiplies) k::binary<k::mul_op>(result, other->view(e), result, to.dtype);
    if (clips) k::unary<k::relu_op>(result, result);
  });
}

// Over vectors of three: the products of each pair of others, subtracted.
void LinalgCross(Plan& plan, const aclTensor* self, const aclTensor* other, int64_t dim, aclTensor* out) {
  const Operand a = plan.input(self, "self"), b = plan.input(other, "other"), to = plan.output(out, "out");
  plan.require_dtype(to, "out", domains::numeric);
  plan.require_same_dtype(a, "self", to, "out");
  plan.require_same_dtype(b, "other", to, "out");
  const int along = plan.dim(dim, to);
  if (to.ndim == 0 || to.sizes[along] != 3)
    plan.invalid("tensor 'out' has shape ", shape_text(to), ", wanted 3 along dim ", dim);
  const Operand left = broadcast_to(plan, a, "self", to), right = broadcast_to(plan, b, "other", to);
  plan.run([=](const aclOpExecutor& e) { k::cross(left.view(e), right.view(e), to.view(e), along); });
}

}  // namespace softnpu::ops
