// A number from Python: bool, int, float or complex, with its kind kept for type promotion.
#pragma once

#include <complex>
#include <cstdint>

#include "base/dtype.h"
#include "base/error.h"

namespace mt {

class Scalar {
 public:
  Scalar() : category_(Category::integral) { value_.i = 0; }
  Scalar(bool v) : category_(Category::boolean) { value_.i = v; }
  Scalar(int v) : Scalar(int64_t(v)) {}
  Scalar(int64_t v) : category_(Category::integral) { value_.i = v; }
  Scalar(double v) : category_(Category::floating) { value_.d[0] = v; }
  Scalar(complex128 v) : category_(Category::complex) { value_.d[0] = v.real(), value_.d[1] = v.imag(); }

  Category category() const { return category_; }
  bool is_floating() const { return category_ == Category::floating; }
  bool is_complex() const { return category_ == Category::complex; }
  bool is_integral() const { return category_ == Category::integral || category_ == Category::boolean; }

  // The value converted to T, as a C cast would; complex to real drops the imaginary part.
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
      using R = typename T::value_type;
      return is_complex() ? T(R(value_.d[0]), R(value_.d[1])) : T(to<R>(), R(0));
    } else if constexpr (std::is_same_v<T, ComplexHalf>) {
      return ComplexHalf(to<complex64>());
    } else if constexpr (std::is_same_v<T, bool>) {
      if (is_complex()) return value_.d[0] != 0 || value_.d[1] != 0;
      return is_integral() ? value_.i != 0 : value_.d[0] != 0;
    } else if constexpr (std::is_integral_v<T>) {
      return is_integral() ? T(value_.i) : T(int64_t(value_.d[0]));
    } else if constexpr (std::is_class_v<T>) {  // narrow floating point
      return T(to<float>());
    } else {
      return is_integral() ? T(value_.i) : T(value_.d[0]);
    }
  }

  bool equals(double v) const { return !is_complex() && to<double>() == v; }
  // The dtype a number has when it stands alone (`default_float` is torch.get_default_dtype()).
  DType natural_dtype(DType default_float) const {
    switch (category_) {
      case Category::boolean: return DType::boolean;
      case Category::integral: return DType::int64;
      case Category::floating: return default_float;
      default: return default_float == DType::float64 ? DType::complex128 : DType::complex64;
    }
  }

 private:
  union {
    int64_t i;
    double d[2];
  } value_;
  Category category_;
};

// Whether a number can be stored in a dtype without overflow. As in PyTorch, small negative numbers may wrap into
// unsigned types, and infinities are at home in every floating type.
bool fits(const Scalar& value, DType dtype);

}  // namespace mt
