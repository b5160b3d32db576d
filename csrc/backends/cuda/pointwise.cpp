#include "generated/cuda/pointwise.h"

#include <cmath>

#include "backends/cuda/cuda_driver.h"
#include "backends/cuda/elementwise.h"
#include "base/limits.h"
#include "infer/infer.h"
#include "kernels/elementwise/functors.h"

namespace mt::cuda {

void addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
             const Tensor& out) {
  static Variants variants;
  run_elementwise(functor_of<kernels::addcmul_op>, variants, "addcmul",
                  infer::ternary_type(self, tensor1, tensor2), out, {self, tensor1, tensor2}, &value);
}
void addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
             const Tensor& out) {
  static Variants variants;
  run_elementwise(functor_of<kernels::addcdiv_op>, variants, "addcdiv",
                  infer::ternary_type(self, tensor1, tensor2), out, {self, tensor1, tensor2}, &value);
}
void lerp(const Tensor& self, const Tensor& end, const Tensor& weight, const Tensor& out) {
  static Variants variants;
  run_elementwise(functor_of<kernels::lerp_op>, variants, "lerp", infer::ternary_type(self, end, weight), out,
                  {self, end, weight}, nullptr);
}

void frexp(const Tensor& self, const Tensor& mantissa, const Tensor& exponent) {
  static Variants exponents, mantissas;
  run_unary(functor_of<kernels::frexp_exponent_op>, exponents, "frexp", self, exponent, nullptr, false);
  run_unary(functor_of<kernels::frexp_mantissa_op>, mantissas, "frexp", self, mantissa, nullptr, false);
}

void nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                std::optional<double> neginf, const Tensor& out) {
  if (out.numel() == 0) return;
  if (is_integral(self.dtype(), true)) return gpu().copy_on_device(self, out);
  static Variants variants;
  const double limit = largest_finite(self.dtype());
  const Scalar params[] = {nan.value_or(0.0), posinf.value_or(limit), neginf.value_or(-limit)};
  run_unary(functor_of<kernels::nan_to_num_op>, variants, "nan_to_num", self, out, params, false);
}

void logit(const Tensor& self, std::optional<double> eps, const Tensor& out) {
  static Variants variants;
  const Scalar margin(eps.value_or(-1.0));
  run_unary(functor_of<kernels::logit_op>, variants, "logit", self, out, &margin, false);
}

void logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps, const Tensor& out) {
  static Variants variants;
  const Scalar margin(eps.value_or(-1.0));
  run_elementwise(functor_of<kernels::logit_backward_op>, variants, "logit_backward",
                  infer::result_type(grad, self), out, {grad, self}, &margin);
}

void round_decimals(const Tensor& self, int64_t decimals, const Tensor& out) {
  static Variants whole, scaled;
  if (decimals == 0)
    return run_unary(functor_of<kernels::round_op>, whole, "round", self, out, nullptr, false);
  const Scalar params[] = {std::pow(10.0, std::fabs(double(decimals))), decimals < 0};
  run_unary(functor_of<kernels::round_decimals_op>, scaled, "round", self, out, params, false);
}

// Half types compute in float, whose neighbours are not theirs: each has a functor of its own.
void nextafter(const Tensor& self, const Tensor& other, const Tensor& out) {
  static Variants of_half, of_bfloat16, of_others;
  const DType compute = infer::result_type(self, other);
  if (compute == DType::float16)
    return run_elementwise(functor_of<kernels::nextafter_half_op>, of_half, "nextafter", compute, out,
                           {self, other}, nullptr);
  if (compute == DType::bfloat16)
    return run_elementwise(functor_of<kernels::nextafter_bfloat16_op>, of_bfloat16, "nextafter", compute, out,
                           {self, other}, nullptr);
  run_elementwise(functor_of<kernels::nextafter_op>, of_others, "nextafter", compute, out, {self, other},
                  nullptr);
}

}  // namespace mt::cuda
