// Dropout in terms of the fills.
#include "generated/ops/composites/dropout.h"

#include <cmath>

#include "generated/ops/binary.h"
#include "generated/ops/copy.h"
#include "generated/ops/creation.h"
#include "generated/ops/pointwise.h"
#include "generated/ops/random.h"

namespace mt::composites {
namespace {

void check_probability(double p) {
  MT_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}

bool keeps_all(const Tensor& input, double p, bool train) {
  check_probability(p);
  return p == 0 || !train || input.numel() == 0;
}

// Ones and zeros in the order of the input's memory, as PyTorch draws them.
Tensor drawn_like(const Tensor& input, double p, const TensorOptions& options = {}) {
  Tensor noise = ops::empty_like(input, std::nullopt, options);
  ops::bernoulli_(noise, p);
  return noise;
}

// 1 where an element is kept, 0 elsewhere; one draw for a whole channel if `feature`.
Tensor kept(const Tensor& input, double p, bool feature) {
  if (!feature) return drawn_like(input, 1 - p);
  MT_CHECK(input.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input");
  Dims sizes(input.sizes());
  for (size_t i = 2; i < sizes.size(); ++i) sizes[i] = 1;
  return ops::bernoulli(ops::new_empty(input, sizes), 1 - p);
}

Tensor scaled_dropout(const Tensor& input, double p, bool train, bool feature) {
  if (keeps_all(input, p, train)) return input;
  if (p == 1) return ops::mul(input, ops::zeros({}, TensorOptions{input.dtype(), input.device()}));
  const Tensor noise = kept(input, p, feature);
  ops::div_(noise, 1 - p);
  return ops::mul(input, noise);
}

// Dropped elements become SELU's lower bound; a and b bring mean and variance back to 0 and 1.
Tensor selu_dropout(const Tensor& input, double p, bool train, bool feature) {
  if (keeps_all(input, p, train)) return input;
  if (p == 1) return ops::mul(input, ops::zeros({}, TensorOptions{input.dtype(), input.device()}));
  constexpr double alpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  const Tensor noise = kept(input, p, feature);
  const Tensor b = ops::add(noise, -1);
  ops::add_(ops::mul_(b, alpha * a), alpha * a * p);
  ops::mul_(noise, a);
  return ops::add(ops::mul(input, noise), b);
}

}  // namespace

Tensor dropout(const Tensor& input, double p, bool train) { return scaled_dropout(input, p, train, false); }
Tensor feature_dropout(const Tensor& input, double p, bool train) {
  return scaled_dropout(input, p, train, true);
}
Tensor alpha_dropout(const Tensor& input, double p, bool train) {
  return selu_dropout(input, p, train, false);
}
Tensor feature_alpha_dropout(const Tensor& input, double p, bool train) {
  return selu_dropout(input, p, train, true);
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, std::optional<bool> train) {
  check_probability(p);
  const TensorOptions booleans{DType::boolean, input.device()};
  if (!train.value_or(true)) return {ops::clone(input, std::nullopt), ops::ones(input.sizes(), booleans)};
  const Tensor mask = drawn_like(input, 1 - p, booleans);
  return {native_dropout_backward(input, mask, p == 1 ? 0 : 1 / (1 - p)), mask};
}

Tensor native_dropout_backward(const Tensor& grad_output, const Tensor& mask, double scale) {
  MT_CHECK(mask.dtype() == DType::boolean, "Mask should be Bool Scalar Type", info(mask.dtype()).legacy);
  return ops::mul(ops::mul(grad_output, mask), scale);
}

}  // namespace mt::composites
