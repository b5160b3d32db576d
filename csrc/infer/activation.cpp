#include "generated/infer/activation.h"

#include "base/limits.h"
#include "infer/halves.h"

namespace mt::infer {
namespace {

// The dimension along which `kernel` takes two halves.
int64_t halved_dim(const Tensor& self, int64_t dim, const char* kernel) {
  const int64_t d = wrap_dim(dim, self.dim()), length = self.size(d);
  MT_CHECK(length % 2 == 0, "Halving dimension must be even, but dimension ", d, " is size ", length);
  MT_CHECK_AS(not_implemented, is_floating(self.dtype()), '"', kernel, "\" not implemented for '",
              info(self.dtype()).legacy, "'");
  return d;
}

void check_approximation(std::string_view approximate) {
  MT_CHECK(approximate == "none" || approximate == "tanh",
           "approximate argument must be either none or tanh.");
}

}  // namespace

void gelu(const Tensor& self, std::string_view approximate, Output& out) {
  check_approximation(approximate);
  unary(self, Rule::same, out);
}

void gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate, Output& out) {
  check_approximation(approximate);
  check_same_device({&grad, &self});
  binary(grad, self, Rule::promote, out);
}

void glu(const Tensor& self, int64_t dim, Output& out) {
  MT_CHECK(self.dim() > 0, "glu does not support scalars because halving size must be even");
  const Halves halves(self, halved_dim(self, dim, "glu_cpu"));
  binary(halves.values, halves.gates, Rule::promote, out);
}

void glu_backward(const Tensor& grad, const Tensor& self, int64_t dim, Output& out) {
  check_same_device({&grad, &self});
  MT_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  const int64_t d = halved_dim(self, dim, "glu_backward_cpu");
  Dims half(self.sizes());
  half[size_t(d)] /= 2;
  MT_CHECK(std::ranges::equal(half, grad.sizes()), "glu_backward: the gradient has shape ",
           to_string(grad.sizes()), ", wanted ", to_string(half));
  out.prepare(self.sizes(), self.dtype(), self.device());
}

void elu_backward(const Tensor& grad, const Scalar& alpha, const Scalar&, const Scalar&, bool is_result,
                  const Tensor& self_or_result, Output& out) {
  MT_CHECK(
      !is_result || alpha.to<double>() >= 0,
      "In-place elu backward calculation is triggered with a negative slope which is not supported. This "
      "is caused by calling in-place forward function with a negative slope, please call out-of-place "
      "version instead.");
  check_same_device({&grad, &self_or_result});
  binary(grad, self_or_result, Rule::promote, out);
}

void check_relu(const Tensor& self) {
  MT_CHECK(self.dtype() != DType::boolean, "Boolean inputs not supported for relu");
}
void check_relu6(const Tensor& self) {
  MT_CHECK(self.dtype() != DType::boolean, "Bool inputs not supported for hardtanh");
}
void check_hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  check_relu6(self);
  MT_CHECK(self.dtype() != DType::uint8 || (min_val.to<double>() >= 0 && max_val.to<double>() >= 0),
           "cannot do hardtanh on an unsigned type with negative limits");
}

void check_softshrink(const Tensor& self, const Scalar& lambd) {
  const double value = lambd.to<double>(), limit = largest_finite(self.dtype());
  MT_CHECK(value >= 0 && value <= limit, "lambda must be in range [0, ", limit, "] for input dtype ",
           info(self.dtype()).legacy, ", but found ", value);
}

}  // namespace mt::infer
