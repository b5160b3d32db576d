// Products of vectors and matrices in terms of mm, bmm and addmm.
#include "generated/ops/composites/matmul.h"

#include "autograd/formulas/common.h"
#include "autograd/node.h"
#include "core/intercept.h"
#include "generated/ops/binary.h"
#include "generated/ops/compare.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/matmul.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/shape.h"
#include "generated/ops/view.h"
#include "infer/infer.h"

namespace mt::composites {
namespace {

// What is added to a product must expand to the product's shape.
void check_expands(IntList own, IntList target) {
  MT_CHECK(own.size() <= target.size(), "expand(", to_string(own), ", size=", to_string(target),
           "): the number of sizes provided (", target.size(),
           ") must be greater or equal to the number of dimensions in the tensor (", own.size(), ")");
  for (size_t back = 1; back <= own.size(); ++back) {
    const int64_t have = own[own.size() - back], want = target[target.size() - back];
    MT_CHECK(have == want || have == 1, "The expanded size of the tensor (", want,
             ") must match the existing size (", have, ") at non-singleton dimension ", target.size() - back,
             ".  Target sizes: ", to_string(target), ".  Tensor sizes: ", to_string(own));
  }
}

void check_vector(const Tensor& t, const char* name, const char* argument) {
  MT_CHECK(t.dim() == 1, name, ": Expected 1-D argument ", argument, ", but got ", t.dim(), "-D");
}

// Operands of a product that is kept in the precision it is summed in: accelerators have it, the cpu has not (nor has
// PyTorch's).
void check_product_in(const char* name, const Tensor& operand, DType out_dtype) {
  MT_CHECK_AS(not_implemented, operand.device().is_accelerator(), "Could not run 'aten::", name,
              ".dtype' with arguments from the 'CPU' backend. Convert the matrices to ", c_name(out_dtype),
              " and multiply those");
  const bool half = operand.dtype() == DType::float16 || operand.dtype() == DType::bfloat16;
  MT_CHECK(out_dtype == operand.dtype() || (half && out_dtype == DType::float32), name,
           "(): out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs, but got ",
           c_name(out_dtype), " for matrices of ", c_name(operand.dtype()));
}

}  // namespace

Tensor mm_in(const Tensor& self, const Tensor& mat2, DType out_dtype) {
  check_product_in("mm", self, out_dtype);
  return ops::mm(ops::to(self, out_dtype), ops::to(mat2, out_dtype));
}

Tensor bmm_in(const Tensor& self, const Tensor& mat2, DType out_dtype) {
  check_product_in("bmm", self, out_dtype);
  return ops::bmm(ops::to(self, out_dtype), ops::to(mat2, out_dtype));
}

Tensor addmm_in(const Tensor& self, const Tensor& mat1, const Tensor& mat2, DType out_dtype,
                const Scalar& beta, const Scalar& alpha) {
  check_product_in("addmm", mat1, out_dtype);
  return ops::addmm(ops::to(self, out_dtype), ops::to(mat1, out_dtype), ops::to(mat2, out_dtype), beta,
                    alpha);
}

Tensor baddbmm_in(const Tensor& self, const Tensor& batch1, const Tensor& batch2, DType out_dtype,
                  const Scalar& beta, const Scalar& alpha) {
  check_product_in("baddbmm", batch1, out_dtype);
  return ops::baddbmm(ops::to(self, out_dtype), ops::to(batch1, out_dtype), ops::to(batch2, out_dtype), beta,
                      alpha);
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  MT_CHECK(self.dim() == 2 && vec.dim() == 1, "vector + matrix @ vector expected, got ", 1, ", ", self.dim(),
           ", ", vec.dim());
  MT_CHECK(self.sizes()[1] == vec.numel(), "size mismatch, got input (", self.sizes()[0], "), mat (",
           self.sizes()[0], "x", self.sizes()[1], "), vec (", vec.numel(), ")");
  return ops::squeeze(ops::mm(self, ops::unsqueeze(vec, 1)), 1);
}

Tensor dot(const Tensor& self, const Tensor& tensor) {
  MT_CHECK(self.dim() == 1 && tensor.dim() == 1, "1D tensors expected, but got ", self.dim(), "D and ",
           tensor.dim(), "D tensors");
  MT_CHECK(self.dtype() == tensor.dtype(), "dot : expected both vectors to have same dtype, but found ",
           info(self.dtype()).legacy, " and ", info(tensor.dtype()).legacy);
  MT_CHECK(self.numel() == tensor.numel(), "inconsistent tensor size, expected tensor [", self.numel(),
           "] and src [", tensor.numel(), "] to have the same number of elements, but got ", self.numel(),
           " and ", tensor.numel(), " elements respectively");
  if (self.dtype() == DType::boolean && tensor.dtype() == DType::boolean)
    return ops::any(ops::logical_and(self, tensor), DimList(), false);
  return ops::mm(ops::unsqueeze(self, 0), ops::unsqueeze(tensor, 1)).reshape({});
}

// A product in which one side is not a matrix: apart, so that that of two matrices saves no registers for it.
[[gnu::noinline]] static Tensor matmul_of_others(const Tensor& self, const Tensor& other) {
  const int64_t a = self.dim(), b = other.dim();
  MT_CHECK(a > 0 && b > 0, "both arguments to matmul need to be at least 1D, but they are ", a, "D and ", b,
           "D");
  if (a == 1 && b == 1) return ops::dot(self, other);
  if (a == 2 && b == 1) return ops::mv(self, other);
  if (a == 1 && b == 2) return ops::squeeze(ops::mm(ops::unsqueeze(self, 0), other), 0);
  if (b <= 2 && a >= 3) {  // fold the batch into the rows
    Dims shape(self.sizes());
    const int64_t k = shape.back();
    shape.resize(shape.size() - 1);
    const Tensor rows = self.reshape(Dims{checked_numel(shape), k});
    const Tensor product = b == 1 ? ops::mv(rows, other) : ops::mm(rows, other);
    if (b == 2) shape.push_back(other.sizes()[1]);
    return product.reshape(shape);
  }
  const Tensor left = a == 1 ? ops::unsqueeze(self, 0) : self;
  const Tensor right = b == 1 ? ops::unsqueeze(other, 1) : other;
  const IntList ls = left.sizes(), rs = right.sizes();
  Dims batch = infer::broadcast(ls.subspan(0, ls.size() - 2), rs.subspan(0, rs.size() - 2));
  const int64_t n = ls[ls.size() - 2], k = ls[ls.size() - 1], k2 = rs[rs.size() - 2], m = rs[rs.size() - 1];
  auto folded = [&](const Tensor& t, int64_t rows, int64_t columns) {
    Dims shape(batch);
    shape.push_back(rows), shape.push_back(columns);
    return ops::expand(t, shape, false).reshape(Dims{checked_numel(batch), rows, columns});
  };
  const Tensor product = ops::bmm(folded(left, n, k), folded(right, k2, m));
  if (a > 1) batch.push_back(n);
  if (b > 1) batch.push_back(m);
  return product.reshape(batch);
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  if (self.dim() == 2 && other.dim() == 2) return ops::mm(self, other);
  return matmul_of_others(self, other);
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const Tensor turned = ops::t(weight);
  if (bias.defined() && input.dim() == 2) return ops::addmm(bias, input, turned);
  if (bias.defined() && input.dim() > 2 && weight.dim() == 2 && bias.dim() <= 1) {  // as one matrix of rows
    Dims shape(input.sizes());
    const int64_t k = std::exchange(shape.back(), weight.sizes()[0]);
    const int64_t rows = checked_numel(IntList(shape).first(shape.size() - 1));
    return ops::addmm(bias, input.reshape(Dims{rows, k}), turned).reshape(shape);
  }
  MT_CHECK(!bias.defined() || input.dtype() == weight.dtype(),
           "mat1 and mat2 must have the same dtype, but got ", info(input.dtype()).legacy, " and ",
           info(weight.dtype()).legacy);
  const Tensor product = ops::matmul(input, turned);
  return bias.defined() ? ops::add(product, bias) : product;
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  MT_CHECK(mat.dim() == 2 && vec.dim() == 1 && self.dim() <= 1, "vector + matrix @ vector expected, got ",
           self.dim(), ", ", mat.dim(), ", ", vec.dim());
  const int64_t rows = mat.sizes()[0], own = self.numel();
  MT_CHECK(mat.sizes()[1] == vec.numel() && (own == rows || own == 1), "size mismatch, got input (", own,
           "), mat (", rows, "x", mat.sizes()[1], "), vec (", vec.numel(), ")");
  const Tensor column = self.reshape(Dims{own, 1});
  return ops::squeeze(ops::addmm(column, mat, ops::unsqueeze(vec, 1), beta, alpha), 1);
}

Tensor outer(const Tensor& self, const Tensor& vec2) {
  check_vector(self, "outer", "self");
  check_vector(vec2, "outer", "vec2");
  return ops::mul(ops::unsqueeze(self, 1), vec2);
}

Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  check_vector(vec1, "addr", "vec1");
  check_vector(vec2, "addr", "vec2");
  const int64_t sizes[] = {vec1.numel(), vec2.numel()};
  check_expands(self.sizes(), sizes);
  const bool matrices = vec1.dtype() == vec2.dtype() && is_differentiable(vec1.dtype());
  const bool wide = self.dtype() == DType::float32 || self.dtype() == DType::float64;
  // In one pass through memory, unless somebody asks for a gradient.
  if (matrices && wide && self.dtype() == vec1.dtype() && beta.equals(1) && !alpha.is_complex() &&
      !autograd::any_needs_grad(self, vec1, vec2) && !is_dual(self) && !is_dual(vec1) && !is_dual(vec2))
    return ops::addcmul(self, ops::unsqueeze(vec1, 1), vec2, alpha);
  // The gradient of a matrix product is one of matrices with vectors; that of a plain one holds two matrices more.
  Tensor product = matrices ? ops::mm(ops::unsqueeze(vec1, 1), ops::unsqueeze(vec2, 0)) : outer(vec1, vec2);
  const DType meeting = infer::result_type(ops::expand(self, sizes, false), product);
  if (meeting == DType::boolean) {
    MT_CHECK(beta.is_integral() && alpha.is_integral(),
             "Boolean beta and alpha only supported for Boolean results.");
    if (alpha.equals(0)) product = ops::zeros_like(product);
    return beta.equals(0) ? product : ops::logical_or(product, self);
  }
  MT_CHECK(is_differentiable(meeting) || (beta.is_integral() && alpha.is_integral()),
           "For integral input tensors, argument beta and alpha must not be floating point numbers.");
  if (!alpha.equals(1)) product = ops::mul(product, alpha);
  if (product.dtype() != meeting) product = ops::_to_copy(product, meeting);
  if (beta.equals(0)) return product;  // self may hold anything, NaN too
  return ops::add(product, beta.equals(1) ? self : ops::mul(self, beta));
}

// The batch lies beside the columns of one matrix product.
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  MT_CHECK(batch1.dim() == 3, "batch1 must be a 3D tensor");
  MT_CHECK(batch2.dim() == 3, "batch2 must be a 3D tensor");
  const IntList a = batch1.sizes(), b = batch2.sizes();
  MT_CHECK(a[0] == b[0], "batch1 and batch2 must have same number of batches, got ", a[0], " and ", b[0]);
  MT_CHECK(a[2] == b[1], "Incompatible matrix sizes for bmm (", a[1], "x", a[2], " and ", b[1], "x", b[2],
           ")");
  const int64_t sizes[] = {a[1], b[2]};
  check_expands(self.sizes(), sizes);
  const Tensor left = ops::permute(batch1, Dims{1, 0, 2}).reshape(Dims{a[1], a[0] * a[2]});
  return ops::addmm(self, left, batch2.reshape(Dims{b[0] * b[1], b[2]}), beta, alpha);
}

Tensor inner(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return ops::mul(self, other);
  const int64_t k = self.sizes().back();
  MT_CHECK(k == other.sizes().back(),
           "inner() the last dimension must match on both input tensors but got shapes ",
           to_string(self.sizes()), " and ", to_string(other.sizes()));
  if (self.dim() == 1 && other.dim() == 1) return ops::dot(self, other);
  Dims shape(self.sizes().first(size_t(self.dim() - 1)));
  const int64_t rows = checked_numel(shape);
  for (int64_t size : other.sizes().first(size_t(other.dim() - 1))) shape.push_back(size);
  const int64_t columns = checked_numel(IntList(other.sizes()).first(size_t(other.dim() - 1)));
  return ops::mm(self.reshape(Dims{rows, k}), ops::t(other.reshape(Dims{columns, k}))).reshape(shape);
}

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  MT_CHECK(is_floating(x.dtype()) || is_complex(x.dtype()),
           "linalg.vecdot: Expected a floating point or complex tensor as input. Got ",
           info(x.dtype()).legacy);
  MT_CHECK(x.dtype() == y.dtype(),
           "linalg.vecdot: Expected x and y to have the same dtype, but found x of type ",
           info(x.dtype()).legacy, " and y of type ", info(y.dtype()).legacy, " instead");
  if (x.dim() == 1 && y.dim() == 1) return ops::dot(formulas::conjugate(x), y);
  const Tensor products = ops::mul(formulas::conjugate(x), y);
  return ops::sum(products, DimList(dim), false, x.dtype());
}

Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  if (dim) return ops::linalg_cross(self, other, *dim);
  for (int64_t d = 0; d < self.dim(); ++d)
    if (self.sizes()[size_t(d)] == 3) return ops::linalg_cross(self, other, d);
  fail(ErrorKind::runtime, "no dimension of size 3 in input");
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  MT_CHECK(input1.dim() == input2.dim(), "bilinear(): input dimensions do not match: got ", input1.dim(),
           " and ", input2.dim());
  for (int64_t d = 0; d + 1 < input1.dim(); ++d)
    MT_CHECK(input1.sizes()[size_t(d)] == input2.sizes()[size_t(d)],
             "bilinear(): input batch dimensions do not match at dim ", d, ": got ",
             input1.sizes()[size_t(d)], " and ", input2.sizes()[size_t(d)]);
  MT_CHECK(input1.dim() > 0, "bilinear(): inputs must have at least one dimension, got 0-D");
  MT_CHECK(weight.dim() == 3, "bilinear(): weight must be 3-D, got ", weight.dim(), "-D");
  const IntList w = weight.sizes();
  MT_CHECK(input1.sizes().back() == w[1], "bilinear(): input1 size does not match weight size: got ",
           input1.sizes().back(), " but expected ", w[1]);
  MT_CHECK(input2.sizes().back() == w[2], "bilinear(): input2 size does not match weight size: got ",
           input2.sizes().back(), " but expected ", w[2]);
  MT_CHECK(!bias.defined() || (bias.dim() == 1 && bias.numel() == w[0]),
           "bilinear(): bias size does not match weight size: got ", bias.defined() ? bias.numel() : 0,
           " but expected ", w[0]);
  Dims shape(input1.sizes());
  const int64_t batch = checked_numel(IntList(shape).first(shape.size() - 1));
  shape.back() = w[0];
  const Tensor x = input1.reshape(Dims{batch, w[1]}), y = input2.reshape(Dims{batch, w[2]});
  // x W for every output feature, then the rows' products with y.
  const Tensor left = ops::mm(x, ops::permute(weight, Dims{1, 0, 2}).reshape(Dims{w[1], w[0] * w[2]}));
  const Tensor product =
      ops::squeeze(ops::bmm(left.reshape(Dims{batch, w[0], w[2]}), ops::unsqueeze(y, 2)), 2).reshape(shape);
  return bias.defined() ? ops::add(product, bias) : product;
}

}  // namespace mt::composites
