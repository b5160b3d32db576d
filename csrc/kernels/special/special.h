// Special functions. All but the polynomials compute in double for every dtype: these are series and fits of a
// dozen or more terms, whose cost does not come from the width of the numbers.
#pragma once

#include <cstdint>

namespace mt::kernels::special {

// ---- bessel.cpp ----
double i0(double x);
double i0e(double x);  // exp(-|x|) i0(x)
double i1(double x);
double i1e(double x);
double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
double bessel_k0(double x);
double bessel_k1(double x);
double scaled_bessel_k0(double x);  // exp(x) k0(x)
double scaled_bessel_k1(double x);
double spherical_bessel_j0(double x);
double airy_ai(double x);

// ---- error.cpp ----
double erfcx(double x);  // exp(x*x) erfc(x)
double ndtr(double x);   // the normal distribution function
double log_ndtr(double x);
double ndtri(double p);  // its inverse
double entr(double x);
double xlog1py(double x, double y);

// ---- gamma.cpp ----
double zeta(double x, double q);          // Hurwitz: the sum of (q + k)^-x over k >= 0
double polygamma(int64_t n, double x);    // the n-th derivative of digamma, n >= 1
double igamma(double a, double x);        // regularised incomplete gamma functions, lower
double igammac(double a, double x);       // and upper
double igamma_slope(double a, double x);  // d igamma / dx

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
