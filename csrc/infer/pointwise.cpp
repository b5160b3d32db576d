#include "generated/infer/pointwise.h"

#include "infer/layout.h"

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
  prepare_elementwise(out, sizes, ternary_type(a, b, c), a.device(), {&a, &b, &c});
}

void check_lerp_type(const Tensor& self, const Tensor& other, const char* name) {
  MT_CHECK(self.dtype() == other.dtype(), "expected dtype ", plain_name(self.dtype()), " for `", name,
           "` but got dtype ", plain_name(other.dtype()));
}

}  // namespace

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

void logit_backward(const Tensor& grad_output, const Tensor& self, std::optional<double>, Output& out) {
  check_same_device({&grad_output, &self});
  binary(grad_output, self, Rule::promote, out);
}

void round_decimals(const Tensor& self, int64_t, Output& out) { unary(self, Rule::same, out); }

void nextafter(const Tensor& self, const Tensor& other, Output& out) {
  check_same_device({&self, &other});
  binary(self, other, Rule::promote, out);
}

}  // namespace mt::infer
