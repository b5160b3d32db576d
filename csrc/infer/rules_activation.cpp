#include "base/limits.h"
#include "infer/infer.h"

namespace mt::infer {
namespace {

// PyTorch's short names in the messages of lerp.
const char* plain_name(DType t) {
  switch (t) {
    case DType::float32: return "float";
    case DType::float64: return "double";
    default: return info(t).name;
  }
}

void prepare_ternary(const Tensor& a, const Tensor& b, const Tensor& c, Output& out) {
  check_same_device({&a, &b, &c});
  const Dims sizes = broadcast(broadcast(a.sizes(), b.sizes()), c.sizes());
  out.prepare(sizes, ternary_type(a, b, c), a.device(), &a);
}

void check_lerp_type(const Tensor& self, const Tensor& other, const char* name) {
  MT_CHECK(self.dtype() == other.dtype(), "expected dtype ", plain_name(self.dtype()), " for `", name,
           "` but got dtype ", plain_name(other.dtype()));
}

void check_infinity_test(const Tensor& self, const char* name) {
  MT_CHECK(!is_complex(self.dtype()), name, " does not support complex inputs.");
}

void check_approximation(std::string_view approximate) {
  MT_CHECK(approximate == "none" || approximate == "tanh",
           "approximate argument must be either none or tanh.");
}

}  // namespace

DType ternary_type(const Tensor& a, const Tensor& b, const Tensor& c) {
  const bool plain = !a.impl()->wrapped_number && !b.impl()->wrapped_number && !c.impl()->wrapped_number;
  if (plain && a.dtype() == b.dtype() && b.dtype() == c.dtype()) return a.dtype();
  const Tensor all[] = {a, b, c};
  return result_type(TensorList(all));
}

void addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar&, Output& out) {
  prepare_ternary(self, tensor1, tensor2, out);
}

void addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar&, Output& out) {
  MT_CHECK(
      !(is_integral(tensor1.dtype(), true) && is_integral(tensor2.dtype(), true)),
      "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform "
      "a true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input "
      "+ value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value "
      "* tensor1 / tensor2) for float inputs. The future addcdiv behavior is just the latter "
      "implementation: (input + value * tensor1 / tensor2), for all dtypes.");
  prepare_ternary(self, tensor1, tensor2, out);
}

void lerp(const Tensor& self, const Tensor& end, const Tensor& weight, Output& out) {
  check_lerp_type(self, end, "end");
  if (weight.dim() > 0 || !weight.impl()->wrapped_number) check_lerp_type(self, weight, "weight");
  prepare_ternary(self, end, weight, out);
}

void check_lerp(const Tensor& self, const Tensor& end, const Scalar&) { check_lerp_type(self, end, "end"); }

void frexp(const Tensor& self, Output& mantissa, Output& exponent) {
  MT_CHECK(is_floating(self.dtype()), "torch.frexp() only supports floating-point dtypes");
  mantissa.prepare(self.sizes(), self.dtype(), self.device(), &self);
  exponent.prepare(self.sizes(), DType::int32, self.device(), &self);
}

void nan_to_num(const Tensor& self, std::optional<double>, std::optional<double>, std::optional<double>,
                Output& out) {
  unary(self, Rule::same, out);
}

void logit(const Tensor& self, std::optional<double>, Output& out) { unary(self, Rule::to_float, out); }

void round_decimals(const Tensor& self, int64_t, Output& out) { unary(self, Rule::same, out); }

void nextafter(const Tensor& self, const Tensor& other, Output& out) {
  check_same_device({&self, &other});
  binary(self, other, Rule::promote, out);
}

void check_isposinf(const Tensor& self) { check_infinity_test(self, "isposinf"); }
void check_isneginf(const Tensor& self) { check_infinity_test(self, "isneginf"); }

void check_heaviside(const Tensor& self, const Tensor& values) {
  MT_CHECK(!is_complex(self.dtype()) && !is_complex(values.dtype()),
           "heaviside is not yet implemented for complex tensors.");
  MT_CHECK(self.dtype() == values.dtype(),
           "heaviside is not yet implemented for tensors with different dtypes.");
}

void fill_with(const Tensor& self, const Tensor& value) {
  MT_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
           " dimensions.");
  check_written_once(self);
}

void gelu(const Tensor& self, std::string_view approximate, Output& out) {
  check_approximation(approximate);
  unary(self, Rule::same, out);
}

void gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate, Output& out) {
  check_approximation(approximate);
  check_same_device({&grad, &self});
  binary(grad, self, Rule::promote, out);
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

void check_softshrink(const Tensor& self, const Scalar& lambd) {
  const double value = lambd.to<double>(), limit = largest_finite(self.dtype());
  MT_CHECK(value >= 0 && value <= limit, "lambda must be in range [0, ", limit, "] for input dtype ",
           info(self.dtype()).legacy, ", but found ", value);
}

}  // namespace mt::infer
