#include "generated/infer/unary.h"

namespace mt::infer {
namespace {

void check_infinity_test(const Tensor& self, const char* name) {
  MT_CHECK(!is_complex(self.dtype()), name, " does not support complex inputs.");
}

void check_angle(const Tensor& self, const char* name) {
  MT_CHECK(!is_complex(self.dtype()), name, " is not supported for complex tensors.");
}

}  // namespace

void check_abs(const Tensor& self) {
  MT_CHECK_AS(not_implemented, self.dtype() != DType::boolean, "\"abs_cpu\" not implemented for 'Bool'");
}
void check_deg2rad(const Tensor& self) { check_angle(self, "deg2rad"); }
void check_rad2deg(const Tensor& self) { check_angle(self, "rad2deg"); }

void check_negation(const Tensor& self) {
  MT_CHECK(self.dtype() != DType::boolean,
           "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
           "to invert a mask, use the `~` or `logical_not()` operator instead.");
}

void check_isposinf(const Tensor& self) { check_infinity_test(self, "isposinf"); }
void check_isneginf(const Tensor& self) { check_infinity_test(self, "isneginf"); }

}  // namespace mt::infer
