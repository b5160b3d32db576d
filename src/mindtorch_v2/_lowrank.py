"""Low-rank approximations."""

from __future__ import annotations

from ._C import Tensor
from ._C import _functions as _native
from ._C import _linalg as _native_linalg


def _approximate_basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """An orthonormal basis of about the range of A, from products with random vectors."""

    def times(X: Tensor) -> Tensor:
        return A @ X if M is None else A @ X - M @ X

    def times_adjoint(X: Tensor) -> Tensor:
        return A.mH @ X if M is None else A.mH @ X - M.mH @ X

    start = _native.randn(A.size(-1), q, dtype=A.dtype, device=A.device)
    Q = _native_linalg.qr(times(start))[0]
    for _ in range(niter):
        Q = _native_linalg.qr(times_adjoint(Q))[0]
        Q = _native_linalg.qr(times(Q))[0]
    return Q


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The q largest singular values and vectors of A - M, by a random projection."""
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    if M is not None:
        M = M.expand(A.shape)
    wide = A.size(-2) < A.size(-1)
    tall, shift = (A.mH, None if M is None else M.mH) if wide else (A, M)
    Q = _approximate_basis(tall, q, niter, shift)
    B = Q.mH @ (tall if shift is None else tall - shift)
    U, S, Vh = _native_linalg.svd(B, full_matrices=False)
    left, right = Q @ U, Vh.mH
    return (right, S, left) if wide else (left, S, right)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of the rows of A: svd_lowrank of A, less its mean where `center`."""
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not center:
        return svd_lowrank(A, q, niter=niter, M=None)
    A = A.to_dense()
    return svd_lowrank(A - A.mean(-2, True), q, niter=niter, M=None)
