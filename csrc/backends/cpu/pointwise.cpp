#include "generated/cpu/pointwise.h"

#include <cmath>

#include "backends/cpu/kernel_view.h"
#include "base/limits.h"
#include "infer/infer.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/functors.h"

namespace mt::cpu {

void addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
             const Tensor& out) {
  kernels::ternary<kernels::addcmul_op>(view(self), view(tensor1), view(tensor2), view(out),
                                        infer::ternary_type(self, tensor1, tensor2), &value);
}
void addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
             const Tensor& out) {
  kernels::ternary<kernels::addcdiv_op>(view(self), view(tensor1), view(tensor2), view(out),
                                        infer::ternary_type(self, tensor1, tensor2), &value);
}
void lerp(const Tensor& self, const Tensor& end, const Tensor& weight, const Tensor& out) {
  kernels::ternary<kernels::lerp_op>(view(self), view(end), view(weight), view(out),
                                     infer::ternary_type(self, end, weight));
}

void frexp(const Tensor& self, const Tensor& mantissa, const Tensor& exponent) {
  kernels::unary<kernels::frexp_exponent_op>(view(self), view(exponent));
  kernels::unary<kernels::frexp_mantissa_op>(view(self), view(mantissa));
}

void nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                std::optional<double> neginf, const Tensor& out) {
  if (is_integral(self.dtype(), true)) return kernels::copy(view(self), view(out));
  const double limit = largest_finite(self.dtype());
  const Scalar params[] = {nan.value_or(0.0), posinf.value_or(limit), neginf.value_or(-limit)};
  kernels::unary<kernels::nan_to_num_op>(view(self), view(out), params);
}

void logit(const Tensor& self, std::optional<double> eps, const Tensor& out) {
  const Scalar margin(eps.value_or(-1.0));
  kernels::unary<kernels::logit_op>(view(self), view(out), &margin);
}

void logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps, const Tensor& out) {
  const Scalar margin(eps.value_or(-1.0));
  kernels::binary<kernels::logit_backward_op>(view(grad), view(self), view(out),
                                              infer::result_type(grad, self), &margin);
}

void round_decimals(const Tensor& self, int64_t decimals, const Tensor& out) {
  if (decimals == 0) return kernels::unary<kernels::round_op>(view(self), view(out));
  const Scalar params[] = {std::pow(10.0, std::fabs(double(decimals))), decimals < 0};
  kernels::unary<kernels::round_decimals_op>(view(self), view(out), params);
}

// Half types compute in float, whose neighbours are not theirs: each has a functor of its own.
void nextafter(const Tensor& self, const Tensor& other, const Tensor& out) {
  const DType compute = infer::result_type(self, other);
  const kernels::View a = view(self), b = view(other), to = view(out);
  if (compute == DType::float16) return kernels::binary<kernels::nextafter_half_op>(a, b, to, compute);
  if (compute == DType::bfloat16) return kernels::binary<kernels::nextafter_bfloat16_op>(a, b, to, compute);
  kernels::binary<kernels::nextafter_op>(a, b, to, compute);
}

}  // namespace mt::cpu
