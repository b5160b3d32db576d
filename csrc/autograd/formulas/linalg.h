// Larger pieces of formulas: linear algebra. Gradients of complex matrices follow PyTorch's convention; the adjoint of
// a real matrix is its transpose.
#pragma once
#pragma once

#include <array>
#include <string_view>

#include "autograd/formulas/common.h"

namespace mt::formulas {

Tensor identity_beside(int64_t n, const Tensor& like);

Tensor lu_factor_backward(const Tensor& grad, const Tensor& LU, const Tensor& pivots);
Tensor lu_solve_backward(const Tensor& grad, const Tensor& X, const Tensor& LU, const Tensor& pivots,
                         bool left, bool adjoint);
std::array<Tensor, 2> solve_backward(const Tensor& grad, const Tensor& X, const Tensor& A, const Tensor& B,
                                     const Tensor& LU, const Tensor& pivots, bool left,
                                     const std::array<bool, 2>& needs);
Tensor inverse_backward(const Tensor& grad, const Tensor& inverse);
Tensor det_backward(const Tensor& grad, const Tensor& determinant, const Tensor& A, const Tensor& LU,
                    const Tensor& pivots);
Tensor slogdet_backward(const Tensor& grad_sign, const Tensor& grad_log, const Tensor& sign, const Tensor& A,
                        const Tensor& LU, const Tensor& pivots);
Tensor cholesky_backward(const Tensor& grad, const Tensor& L, bool upper);
Tensor cholesky_inverse_backward(const Tensor& grad, const Tensor& inverse, const Tensor& factor, bool upper);
std::array<Tensor, 2> solve_triangular_backward(const Tensor& grad, const Tensor& X, const Tensor& A,
                                                bool upper, bool left, bool unit,
                                                const std::array<bool, 2>& needs);
Tensor qr_backward(const Tensor& grad_q, const Tensor& grad_r, const Tensor& Q, const Tensor& R,
                   std::string_view mode);
Tensor svd_backward(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh, const Tensor& U,
                    const Tensor& S, const Tensor& Vh);
Tensor pinv_backward(const Tensor& grad, const Tensor& pinv, const Tensor& A);
Tensor eigh_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                     const Tensor& vectors);
Tensor eig_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                    const Tensor& vectors);

}  // namespace mt::formulas
