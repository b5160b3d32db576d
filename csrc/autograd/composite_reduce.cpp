// Reductions and normalisations in terms of other operators.
#include <limits>

#include "generated/ops/ops.h"
#include "infer/checks.h"
#include "infer/infer.h"

namespace mt::composite {
namespace {

std::optional<Scalar> correction_for(bool unbiased) { return Scalar(int64_t(unbiased)); }

Tensor to_dtype(const Tensor& t, std::optional<DType> dtype) {
  return dtype && *dtype != t.dtype() ? ops::_to_copy(t, dtype) : t;
}

using Pair = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

}  // namespace

Tensor nanmean(const Tensor& self, const DimList& dim, bool keepdim, std::optional<DType> dtype) {
  MT_CHECK(is_differentiable(self.dtype()),
           "nanmean(): expected input to have floating point or complex dtype but got ",
           info(self.dtype()).legacy);
  const Tensor counted =
      ops::sum(ops::logical_not(ops::isnan(ops::detach(self))), dim, keepdim, std::nullopt);
  return ops::div(ops::nansum(self, dim, keepdim, dtype), counted);
}

Pair aminmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
  if (!dim) {
    MT_CHECK(self.numel() != 0,
             "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
    return {ops::amin(self, DimList(), keepdim), ops::amax(self, DimList(), keepdim)};
  }
  const int64_t d = wrap_dim(*dim, self.dim());
  MT_CHECK_AS(index, self.dim() == 0 || self.sizes()[size_t(d)] != 0, "aminmax: Expected reduction dim ", d,
              " to have non-zero size.");
  return {ops::amin(self, DimList(d), keepdim), ops::amax(self, DimList(d), keepdim)};
}

Tensor var_all(const Tensor& self, bool unbiased) {
  return ops::var(self, DimList(), correction_for(unbiased), false);
}
Tensor var_dim(const Tensor& self, const DimList& dim, bool unbiased, bool keepdim) {
  return ops::var(self, dim, correction_for(unbiased), keepdim);
}
Tensor std_all(const Tensor& self, bool unbiased) {
  return ops::std(self, DimList(), correction_for(unbiased), false);
}
Tensor std_dim(const Tensor& self, const DimList& dim, bool unbiased, bool keepdim) {
  return ops::std(self, dim, correction_for(unbiased), keepdim);
}
Pair var_mean_all(const Tensor& self, bool unbiased) {
  return ops::var_mean(self, DimList(), correction_for(unbiased), false);
}
Pair var_mean_dim(const Tensor& self, const DimList& dim, bool unbiased, bool keepdim) {
  return ops::var_mean(self, dim, correction_for(unbiased), keepdim);
}
Pair std_mean_all(const Tensor& self, bool unbiased) {
  return ops::std_mean(self, DimList(), correction_for(unbiased), false);
}
Pair std_mean_dim(const Tensor& self, const DimList& dim, bool unbiased, bool keepdim) {
  return ops::std_mean(self, dim, correction_for(unbiased), keepdim);
}

Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  return ops::linalg_vector_norm(ops::sub(self, other), p, DimList(), false, std::nullopt);
}

Tensor safe_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  // Rows of nothing but -inf are rows of zeros instead of NaN; they go in as zeros, so that no NaN comes back either.
  const Tensor x = to_dtype(self, dtype);
  const Tensor masked =
      ops::all(ops::eq(ops::detach(x), Scalar(-std::numeric_limits<double>::infinity())), DimList(dim), true);
  return ops::where(masked, Scalar(0), ops::_softmax(ops::where(masked, Scalar(0), x), dim, false));
}

Tensor layer_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps, bool) {
  return std::get<0>(ops::native_layer_norm(input, normalized_shape, weight, bias, eps));
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps, bool) {
  MT_CHECK(input.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ", input.dim());
  const int64_t n = input.sizes()[0], c = input.sizes()[1];
  MT_CHECK(num_groups > 0, "Expected num groups to be greater than 0, got ", num_groups);
  int64_t space = 1;
  for (int64_t size : input.sizes().subspan(2)) space *= size;
  return std::get<0>(ops::native_group_norm(input, weight, bias, n, c, space, num_groups, eps));
}

Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum, double eps, bool) {
  if (input.numel() == 0) {  // nothing to learn from: running statistics stay, gradients are zeros
    Tensor out = ops::clone(input);
    if (weight.defined() && weight.numel() > 0) out = ops::mul(out, ops::select(weight, 0, 0));
    if (bias.defined() && bias.numel() > 0) out = ops::add(out, ops::select(bias, 0, 0));
    return out;
  }
  return std::get<0>(
      ops::native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps));
}

Three batch_norm_with_statistics(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                 const Tensor& running_mean, const Tensor& running_var, bool training,
                                 double momentum, double eps) {
  return ops::native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps);
}
Three batch_norm_without_statistics(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                    bool training, double momentum, double eps) {
  return ops::native_batch_norm(input, weight, bias, Tensor(), Tensor(), training, momentum, eps);
}
std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_with_update(const Tensor& input, const Tensor& weight,
                                                                  const Tensor& bias,
                                                                  const Tensor& running_mean,
                                                                  const Tensor& running_var, double momentum,
                                                                  double eps) {
  auto [out, mean, invstd] =
      ops::native_batch_norm(input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {out, mean, invstd, new_tensor(Dims{0}, DType::uint8, input.device())};
}

Tensor rms_norm(const Tensor& input, IntList normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  infer::check_normalized_shape(input, normalized_shape);
  infer::check_shape_like("weight", weight, normalized_shape);
  MT_CHECK_AS(not_implemented, is_differentiable(input.dtype()), "\"rms_norm\" not implemented for '",
              info(input.dtype()).legacy, "'");
  const DType dtype = input.dtype();
  const bool half = dtype == DType::float16 || dtype == DType::bfloat16;
  const Tensor x = half ? ops::_to_copy(input, DType::float32) : input;
  const bool twice = x.dtype() == DType::float64 || x.dtype() == DType::complex128;
  const double least =
      twice ? std::numeric_limits<double>::epsilon() : double(std::numeric_limits<float>::epsilon());
  Dims inside;
  for (int64_t d = x.dim() - int64_t(normalized_shape.size()); d < x.dim(); ++d) inside.push_back(d);
  const Tensor power = ops::mean(ops::mul(x, x), DimList(inside), true, std::nullopt);
  Tensor out = ops::mul(x, ops::rsqrt(ops::add(power, Scalar(eps.value_or(least)))));
  if (weight.defined()) out = ops::mul(out, weight);
  return half ? ops::_to_copy(out, weight.defined() ? infer::result_type(input, weight) : dtype) : out;
}

}  // namespace mt::composite
