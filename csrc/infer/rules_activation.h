// Rules of single operators: activations and elementwise pieces. Included by infer.h.
#pragma once

#include <string_view>

#include "infer/infer.h"

namespace mt::infer {

// ---- elementwise ----
DType ternary_type(const Tensor& a, const Tensor& b, const Tensor& c);
void addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
             Output& out);
void addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
             Output& out);
void lerp(const Tensor& self, const Tensor& end, const Tensor& weight, Output& out);
void check_lerp(const Tensor& self, const Tensor& end, const Scalar& weight);
void frexp(const Tensor& self, Output& mantissa, Output& exponent);
void nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                std::optional<double> neginf, Output& out);
void logit(const Tensor& self, std::optional<double> eps, Output& out);
void round_decimals(const Tensor& self, int64_t decimals, Output& out);
void nextafter(const Tensor& self, const Tensor& other, Output& out);
void check_isposinf(const Tensor& self);
void check_isneginf(const Tensor& self);
void check_heaviside(const Tensor& self, const Tensor& values);
void fill_with(const Tensor& self, const Tensor& value);

// ---- activations ----
void gelu(const Tensor& self, std::string_view approximate, Output& out);
void gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate, Output& out);
void elu_backward(const Tensor& grad, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                  bool is_result, const Tensor& self_or_result, Output& out);
void check_softshrink(const Tensor& self, const Scalar& lambd);

}  // namespace mt::infer
