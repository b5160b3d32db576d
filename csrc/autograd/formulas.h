// The vocabulary of the table's backward formulas: arithmetic on tensors and the larger pieces.
#pragma once

#include <array>

#include "autograd/formulas_activation.h"
#include "autograd/formulas_complex.h"
#include "autograd/formulas_index.h"
#include "autograd/formulas_linalg.h"
#include "autograd/formulas_nn.h"
#include "autograd/formulas_normalization.h"
#include "autograd/formulas_recurrent.h"
#include "autograd/formulas_reduce.h"
#include "autograd/formulas_shape.h"
#include "autograd/formulas_special.h"
#include "autograd/node.h"
#include "generated/ops/ops.h"

namespace mt::formulas {

using namespace mt::ops;

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, const Scalar& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator-(const Scalar& a, const Tensor& b);
Tensor operator-(const Tensor& a);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Scalar& b);  // by 1: the tensor itself
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Scalar& b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Scalar& b);
Tensor operator>=(const Tensor& a, const Scalar& b);

Tensor to_like(const Tensor& grad, const autograd::OutputMeta& like);
template <class... T>
const Tensor& element_of(const std::tuple<T...>& results) {
  return std::get<0>(results);
}

Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Scalar& exponent);
Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent);
Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent,
                             const Tensor& result);
Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& other, const Tensor& lost);
// Undoes a reduction's shape: reduced dims come back with their old size.
Tensor unreduce(const Tensor& grad, IntList sizes, const DimList& dim, bool keepdim);
Scalar reduced_count(IntList sizes, const DimList& dim);
Tensor reduce_extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                                const DimList& dim, bool keepdim);
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, const DimList& dim,
                     bool keepdim);
Tensor value_selecting_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntList sizes,
                                bool keepdim);
Dims inverse_permutation(IntList dims);
Tensor select_backward(const Tensor& grad, IntList sizes, int64_t dim, int64_t index);
Tensor slice_backward(const Tensor& grad, IntList sizes, int64_t dim, std::optional<int64_t> start,
                      std::optional<int64_t> end, int64_t step);
Tensor diagonal_backward(const Tensor& grad, IntList sizes, int64_t offset, int64_t dim1, int64_t dim2);
Tensor as_strided_backward(const Tensor& grad, const autograd::Geometry& self, IntList size, IntList stride,
                           std::optional<int64_t> storage_offset);
std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<Dims>& sizes, int64_t dim);
Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                               int64_t dim);

}  // namespace mt::formulas
