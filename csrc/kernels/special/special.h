// Special functions; those without branches are in modified_bessel.h and common/vector_error.h. All but the polynomials
// compute in double for every dtype: these are series and fits of a
// dozen or more terms, whose cost does not come from the width of the numbers.
#pragma once

#include <cstdint>
#include <limits>

// Programs of a device hold the functions themselves: only those that they use, and each once instead of for every
// element that a thread computes, which takes ten times as long to compile.
#ifdef MT_DEVICE_CODE
#define MT_SPECIAL_FUNCTION __noinline__ inline
#else
#define MT_SPECIAL_FUNCTION
#endif

namespace mt::kernels::special {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- bessel.cpp ----
MT_SPECIAL_FUNCTION double bessel_j0(double x);
MT_SPECIAL_FUNCTION double bessel_j1(double x);
MT_SPECIAL_FUNCTION double bessel_y0(double x);
MT_SPECIAL_FUNCTION double bessel_y1(double x);
MT_SPECIAL_FUNCTION double bessel_k0(double x);
MT_SPECIAL_FUNCTION double bessel_k1(double x);
MT_SPECIAL_FUNCTION double scaled_bessel_k0(double x);  // exp(x) k0(x)
MT_SPECIAL_FUNCTION double scaled_bessel_k1(double x);
MT_SPECIAL_FUNCTION double spherical_bessel_j0(double x);
MT_SPECIAL_FUNCTION double airy_ai(double x);

// ---- error.cpp ----
MT_SPECIAL_FUNCTION double xlog1py(double x, double y);

// ---- gamma.cpp ----
MT_SPECIAL_FUNCTION double zeta(double x, double q);        // Hurwitz: the sum of (q + k)^-x over k >= 0
MT_SPECIAL_FUNCTION double polygamma(int64_t n, double x);  // the n-th derivative of digamma, n >= 1
// Regularised incomplete gamma functions, lower and upper; series end where a term is `smallest` of the sum.
MT_SPECIAL_FUNCTION double igamma(double a, double x, double smallest);
MT_SPECIAL_FUNCTION double igammac(double a, double x, double smallest);
MT_SPECIAL_FUNCTION double igamma_slope(double a, double x);  // d igamma / dx

// ---- polynomial.cpp: orthogonal polynomials of degree n, 0 for a negative one. They compute in T (float
// or double), so that what outgrows a float does so where it does in PyTorch. ----
template <class T> T chebyshev_t(T x, int64_t n);
template <class T> T chebyshev_u(T x, int64_t n);
template <class T> T chebyshev_v(T x, int64_t n);
template <class T> T chebyshev_w(T x, int64_t n);
template <class T> T hermite_h(T x, int64_t n);
template <class T> T hermite_he(T x, int64_t n);
template <class T> T laguerre_l(T x, int64_t n);
template <class T> T legendre_p(T x, int64_t n);

}  // namespace mt::kernels::special
