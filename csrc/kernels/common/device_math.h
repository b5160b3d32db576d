// The functions of vector_math.h for the compiler of an accelerator, which has them itself.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/common/fit.h"

namespace mt::kernels::math {

inline constexpr double kInfinity64 = std::numeric_limits<double>::infinity();
inline constexpr double kNaN64 = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kRootHalf = 0.70710678118654752440;

inline double abs(double x) { return std::fabs(x); }
inline double copy_sign(double magnitude, double sign) { return std::copysign(magnitude, sign); }

#define MT_DEVICE_FUNCTION(NAME, OTHER)           \
  inline float NAME(float x) { return OTHER(x); } \
  inline double NAME(double x) { return OTHER(x); }
MT_DEVICE_FUNCTION(exp, std::exp)
MT_DEVICE_FUNCTION(exp_of_moderate, std::exp)
MT_DEVICE_FUNCTION(exp_below, std::exp)
MT_DEVICE_FUNCTION(expm1, std::expm1)
MT_DEVICE_FUNCTION(log, std::log)
MT_DEVICE_FUNCTION(log_usual, std::log)
MT_DEVICE_FUNCTION(log1p, std::log1p)
MT_DEVICE_FUNCTION(tanh, std::tanh)
MT_DEVICE_FUNCTION(atanh, std::atanh)
MT_DEVICE_FUNCTION(erf, std::erf)
MT_DEVICE_FUNCTION(erfc, std::erfc)
MT_DEVICE_FUNCTION(sin_usual, std::sin)
MT_DEVICE_FUNCTION(cos_usual, std::cos)
MT_DEVICE_FUNCTION(tan_usual, std::tan)
MT_DEVICE_FUNCTION(atan, std::atan)
MT_DEVICE_FUNCTION(asin, std::asin)
MT_DEVICE_FUNCTION(acos, std::acos)
MT_DEVICE_FUNCTION(exp2, std::exp2)
MT_DEVICE_FUNCTION(exp2_of_moderate, std::exp2)
MT_DEVICE_FUNCTION(log2, std::log2)
MT_DEVICE_FUNCTION(log2_usual, std::log2)
MT_DEVICE_FUNCTION(log10, std::log10)
MT_DEVICE_FUNCTION(log10_usual, std::log10)
MT_DEVICE_FUNCTION(sinh, std::sinh)
MT_DEVICE_FUNCTION(cosh, std::cosh)
MT_DEVICE_FUNCTION(asinh, std::asinh)
MT_DEVICE_FUNCTION(acosh, std::acosh)
#undef MT_DEVICE_FUNCTION
inline float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline float atan2(float y, float x) { return std::atan2(y, x); }
inline double atan2(double y, double x) { return std::atan2(y, x); }
inline float hypot(float a, float b) { return std::hypot(a, b); }
inline double hypot(double a, double b) { return std::hypot(a, b); }
// The unusual logarithms, roots and powers are the library's, which are all of them here.
template <class T> inline bool has_usual_log(T) { return false; }
template <class T> inline bool has_usual_root(T) { return false; }
template <class T> inline T root_usual(T x) { return std::sqrt(x); }
template <class T> inline bool has_usual_power(T, T) { return false; }
template <class T> inline T power_usual(T a, T b) { return std::pow(a, b); }

template <class T> inline double erfcx_for(double x) { return ::erfcx(x); }
template <class T> inline double ndtr_for(double x) { return ::normcdf(x); }
template <class T> inline double log_ndtr_for(double x) {
  if (x < -1) return std::log(::erfcx(-x * kRootHalf) / 2) - x * x / 2;
  return std::log1p(-std::erfc(x * kRootHalf) / 2);
}
struct InverseErf {
  static double of(double x) { return ::erfinv(x); }
};
struct InverseNormal {
  static double of(double p) { return ::normcdfinv(p); }
};
template <class Kind, class T> inline void invert_all(T* out, const T* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = T(Kind::of(double(in[i])));
}

}  // namespace mt::kernels::math
