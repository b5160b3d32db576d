#include "autograd/formulas/normalization.h"

#include "autograd/formulas/again.h"
#include "generated/ops/creation.h"
#include "generated/ops/normalization.h"
#include "generated/ops/reduce.h"
#include "generated/ops/unary.h"

namespace mt::formulas {
namespace {

int64_t mask_of(const NormNeeds& needs) { return needs[0] | needs[1] << 1 | needs[2] << 2; }

NormGradients only_needed(NormGradients made, const NormNeeds& needs) {
  if (!needs[0]) std::get<0>(made) = Tensor();
  if (!needs[1]) std::get<1>(made) = Tensor();
  if (!needs[2]) std::get<2>(made) = Tensor();
  return made;
}

Tensor mean_over(const Tensor& x, const Dims& dims) {
  return ops::mean(x, DimList(dims), true, std::nullopt);
}

Tensor sum_over(const Tensor& x, const Dims& dims) {
  return dims.empty() ? x : ops::sum(x, DimList(dims), false, std::nullopt);
}

// Mean 0 and variance 1 over `dims`, and the factor that was applied.
struct Standardized {
  Tensor values, scale;
};

Standardized standardized(const Tensor& x, const Dims& dims, double eps) {
  const Tensor centered = x - mean_over(x, dims);
  const Tensor scale = ops::rsqrt(mean_over(centered * centered, dims) + Scalar(eps));
  return {centered * scale, scale};
}
Tensor standardized_backward(const Tensor& grad, const Standardized& x, const Dims& dims) {
  return x.scale * (grad - mean_over(grad, dims) - x.values * mean_over(grad * x.values, dims));
}

Dims range(int64_t begin, int64_t end) {
  Dims out;
  for (int64_t i = begin; i < end; ++i) out.push_back(i);
  return out;
}

}  // namespace

NormGradients layer_norm_backward(const Tensor& grad, const Tensor& input, IntList normalized_shape,
                                  const Tensor& mean, const Tensor& rstd, const Tensor& weight, double eps,
                                  const NormNeeds& needs) {
  if (!differentiated_again(grad, input, weight))
    return only_needed(
        _layer_norm_backward(grad, input, normalized_shape, mean, rstd, weight, mask_of(needs)), needs);
  const int64_t outer = input.dim() - int64_t(normalized_shape.size());
  const Dims inside = range(outer, input.dim()), outside = range(0, outer);
  const Standardized x = standardized(input, inside, eps);
  return {standardized_backward(weight.defined() ? grad * weight : grad, x, inside),
          sum_over(grad * x.values, outside), sum_over(grad, outside)};
}

NormGradients group_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& mean,
                                  const Tensor& rstd, const Tensor& weight, int64_t n, int64_t c, int64_t hxw,
                                  int64_t group, double eps, const NormNeeds& needs) {
  if (!differentiated_again(grad, input, weight))
    return only_needed(
        _group_norm_backward(grad, input, mean, rstd, weight, n, c, hxw, group, mask_of(needs)), needs);
  const Dims grouped{n, group, c / group * hxw}, planes{n, c, hxw}, inside{2}, outside{0, 2};
  const Standardized x = standardized(input.reshape(grouped), inside, eps);
  const Tensor by_channel = grad.reshape(planes);
  const Tensor weighted = weight.defined() ? by_channel * weight.reshape(Dims{c, 1}) : by_channel;
  return {standardized_backward(weighted.reshape(grouped), x, inside).reshape(input.sizes()),
          sum_over(by_channel * x.values.reshape(planes), outside), sum_over(by_channel, outside)};
}

NormGradients batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                  const Tensor& running_mean, const Tensor& running_var,
                                  const Tensor& save_mean, const Tensor& save_invstd, bool training,
                                  double eps, const NormNeeds& needs) {
  if (!differentiated_again(grad, input, weight))
    return only_needed(_batch_norm_backward(grad, input, weight, running_mean, running_var, save_mean,
                                            save_invstd, training, eps, mask_of(needs)),
                       needs);
  Dims others = range(1, input.dim()), shape(size_t(input.dim()), 1);
  others[0] = 0;
  shape[1] = input.size(1);
  const Tensor weighted = weight.defined() ? grad * weight.reshape(shape) : grad;
  if (training) {
    const Standardized x = standardized(input, others, eps);
    return {standardized_backward(weighted, x, others), sum_over(grad * x.values, others),
            sum_over(grad, others)};
  }
  const Tensor scale = ops::rsqrt(running_var.reshape(shape) + Scalar(eps));
  const Tensor values = (input - running_mean.reshape(shape)) * scale;
  return {weighted * scale, sum_over(grad * values, others), sum_over(grad, others)};
}

namespace {

// Standardising is its own adjoint, so that tangents go through it as gradients do.
Tensor affine_tangent(const Tensor& moved, const Tensor& values, const NormTangents& tangents,
                      const Tensor& weight, const Dims& shape) {
  Tensor made = weight.defined() ? moved * weight.reshape(shape) : moved;
  if (tangents.weight.defined()) made = made + values * tangents.weight.reshape(shape);
  if (tangents.bias.defined()) made = made + tangents.bias.reshape(shape);
  return made;
}

}  // namespace

Tensor layer_norm_tangent(const NormTangents& tangents, const Tensor& input, IntList normalized_shape,
                          const Tensor& weight, double eps) {
  const Dims inside = range(input.dim() - int64_t(normalized_shape.size()), input.dim());
  const Standardized x = standardized(input, inside, eps);
  return affine_tangent(standardized_backward(tangents.input, x, inside), x.values, tangents, weight,
                        Dims(normalized_shape));
}

Tensor group_norm_tangent(const NormTangents& tangents, const Tensor& input, const Tensor& weight, int64_t n,
                          int64_t c, int64_t hxw, int64_t group, double eps) {
  const Dims grouped{n, group, c / group * hxw}, planes{n, c, hxw}, inside{2};
  const Standardized x = standardized(input.reshape(grouped), inside, eps);
  const Tensor moved = standardized_backward(tangents.input.reshape(grouped), x, inside);
  return affine_tangent(moved.reshape(planes), x.values.reshape(planes), tangents, weight, Dims{c, 1})
      .reshape(input.sizes());
}

Tensor batch_norm_tangent(const NormTangents& tangents, const Tensor& input, const Tensor& weight,
                          const Tensor& running_mean, const Tensor& running_var, bool training, double eps) {
  Dims others = range(1, input.dim()), shape(size_t(input.dim()), 1);
  others[0] = 0;
  shape[1] = input.size(1);
  if (training) {
    const Standardized x = standardized(input, others, eps);
    return affine_tangent(standardized_backward(tangents.input, x, others), x.values, tangents, weight,
                          shape);
  }
  const Tensor scale = ops::rsqrt(running_var.reshape(shape) + Scalar(eps));
  const Tensor values = (input - running_mean.reshape(shape)) * scale;
  return affine_tangent(tangents.input * scale, values, tangents, weight, shape);
}

}  // namespace mt::formulas
