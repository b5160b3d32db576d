#include "generated/infer/binary.h"

namespace mt::infer {
namespace {

void refuse_booleans(bool left, bool right) {
  MT_CHECK(!(left && right),
           "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
           "`logical_xor()` operator instead.");
  MT_CHECK(!left && !right,
           "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert "
           "a mask, use the `~` or `logical_not()` operator instead.");
}

bool is_boolean(const Tensor& t) { return t.dtype() == DType::boolean; }
bool is_boolean(const Scalar& s) { return s.category() == Category::boolean; }

template <class B>
void check_sum(const Tensor& self, const B& other, const Scalar& alpha) {
  if (alpha.category() != Category::integral || !alpha.equals(1))
    check_alpha(result_type(self, other), alpha);
}

template <class B>
void check_difference(const Tensor& self, const B& other, const Scalar& alpha) {
  if (is_boolean(self) || is_boolean(other)) [[unlikely]]
    refuse_booleans(is_boolean(self), is_boolean(other));
  check_sum(self, other, alpha);
}

void check_order(const Tensor& self, const Tensor& other, const char* name) {
  MT_CHECK(!is_complex(self.dtype()) && !is_complex(other.dtype()), name,
           " not implemented for complex tensors.");
}

}  // namespace

void check_maximum(const Tensor& self, const Tensor& other) { check_order(self, other, "maximum"); }
void check_minimum(const Tensor& self, const Tensor& other) { check_order(self, other, "minimum"); }
void check_fmax(const Tensor& self, const Tensor& other) { check_order(self, other, "fmax"); }
void check_fmin(const Tensor& self, const Tensor& other) { check_order(self, other, "fmin"); }

void check_add(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_sum(self, other, alpha);
}
void check_add(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  check_sum(self, other, alpha);
}
void check_sub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_difference(self, other, alpha);
}
void check_sub(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  check_difference(self, other, alpha);
}

void check_power(const Tensor& self, const Tensor& exponent) {  // whose numbers are not read on the host
  MT_CHECK_AS(not_implemented, self.dtype() != DType::boolean || exponent.dtype() != DType::boolean,
              "\"pow\" not implemented for 'Bool'");
}
void check_power(const Tensor& self, const Scalar& exponent) {
  MT_CHECK(!(is_integral(self.dtype(), true) && exponent.is_integral() && exponent.to<int64_t>() < 0),
           "Integers to negative integer powers are not allowed.");
}

void check_heaviside(const Tensor& self, const Tensor& values) {
  MT_CHECK(!is_complex(self.dtype()) && !is_complex(values.dtype()),
           "heaviside is not yet implemented for complex tensors.");
  MT_CHECK(self.dtype() == values.dtype(),
           "heaviside is not yet implemented for tensors with different dtypes.");
}

}  // namespace mt::infer
