// Normalisations in terms of their kernels.
#include "generated/ops/composites/normalization.h"

#include <limits>

#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/normalization.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unary.h"
#include "generated/ops/view.h"
#include "infer/checks.h"
#include "infer/infer.h"

namespace mt::composites {
namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

}  // namespace

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
  return {out, mean, invstd, ops::empty(Dims{0}, std::nullopt, {DType::uint8, input.device()})};
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

}  // namespace mt::composites
