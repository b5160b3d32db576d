"""A few of the largest or smallest eigenvalues of a large symmetric matrix, by products with it alone."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .. import overrides
from .._C import Tensor
from ..autograd import Function

__all__ = ["lobpcg"]

# How small an error suffices where nothing is said: the square root of what numbers resolve.
_RESOLUTION = {torch.float32: 1.2e-07, torch.float64: 2.23e-16}


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[LOBPCG], None] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of A, or of A x = e B x, and their vectors.

    ``X`` is what to begin with (``n`` random vectors if it is absent), ``iK`` an approximate inverse of A to make
    residuals point the right way, ``tracker`` a function that is called with each step. Steps are orthonormalised
    whatever ``method`` and the parameters of it say.
    """
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if A.dtype not in _RESOLUTION:
        raise ValueError(f"lobpcg: wanted matrices of float32 or float64, got {A.dtype}")
    rows = A.shape[-1]
    count = (1 if X is None else X.shape[-1]) if k is None else k
    width = (X.shape[-1] if X is not None else count) if n is None else n
    width = max(width, count)
    if rows < 3 * count:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number of "
            f"requested eigenpairs (={count})"
        )
    steps = 1000 if niter is None else niter
    limit = math.sqrt(_RESOLUTION[A.dtype]) if tol is None else tol
    which = True if largest is None else largest
    batch = A.shape[:-2]
    if X is None:
        X = torch.randn((*batch, rows, width), dtype=A.dtype, device=A.device)
    elif X.shape[-2] != rows or X.dim() != A.dim():
        raise AssertionError(f"X: wanted {rows} rows and the batch of A, got shape {X.shape}")
    if torch.is_grad_enabled() and (A.requires_grad or (B is not None and B.requires_grad)):
        symmetric = (A + A.mH) / 2
        other = None if B is None else (B + B.mH) / 2
        found: tuple[Tensor, Tensor] = _Differentiable.apply(
            symmetric, other, X, iK, count, steps, limit, which, tracker
        )
        return found
    return _solve(A, B, X, iK, count, steps, limit, which, tracker)


def _solve(
    A: Tensor,
    B: Tensor | None,
    X: Tensor,
    iK: Tensor | None,
    count: int,
    steps: int,
    limit: float,
    largest: bool,
    tracker: Callable[[LOBPCG], None] | None,
) -> tuple[Tensor, Tensor]:
    if A.dim() == 2:
        return LOBPCG(A, B, X, iK, count, steps, limit, largest, tracker).run()
    batch, rows = A.shape[:-2], A.shape[-1]

    def each(matrices: Tensor | None) -> Any:
        if matrices is None:
            return [None] * math.prod(batch)
        return matrices.expand((*batch, *matrices.shape[-2:])).reshape(-1, *matrices.shape[-2:])

    found = [
        LOBPCG(*parts, count, steps, limit, largest, tracker).run()
        for parts in zip(each(A), each(B), each(X), each(iK), strict=True)
    ]
    values, vectors = (torch.stack(list(part)) for part in zip(*found, strict=True))
    return values.reshape(*batch, count), vectors.reshape(*batch, rows, count)


class LOBPCG:
    """The state of the iteration, as trackers see it: ``bvars["force_stop"] = True`` ends it."""

    def __init__(
        self,
        A: Tensor,
        B: Tensor | None,
        X: Tensor,
        iK: Tensor | None,
        count: int,
        steps: int,
        limit: float,
        largest: bool,
        tracker: Callable[[LOBPCG], None] | None,
    ) -> None:
        self.A, self.B, self.iK, self.tracker = A, B, iK, tracker
        self.iparams = {"m": A.shape[-1], "k": count, "n": X.shape[-1], "niter": steps}
        self.fparams = {"tol": limit}
        self.bparams = {"largest": largest}
        self.X = X
        self.E = X.new_zeros(X.shape[-1])
        self.R = torch.zeros_like(X)
        self.S = X[:, :0]  # what the next step chooses from, besides X and R: where the last one came from
        self.ivars = {"istep": 0, "iterations_left": steps, "converged_count": 0}
        self.fvars: dict[str, float] = {}
        self.bvars: dict[str, bool] = {}
        self.tvars: dict[str, Tensor] = {}

    def _weighted(self, vectors: Tensor) -> Tensor:
        return vectors if self.B is None else self.B @ vectors

    def _orthonormal(self, vectors: Tensor) -> Tensor:
        """A basis of what the vectors span, orthonormal in the product of B; directions that are mere rounding go."""
        vectors = vectors / vectors.norm(dim=0).clamp(min=torch.finfo(vectors.dtype).tiny)
        for _ in range(2):  # the second time corrects the rounding of the first
            gram = vectors.mT @ self._weighted(vectors)
            size, turn = torch.linalg.eigh((gram + gram.mT) / 2)
            kept = size > size[-1] * size.shape[0] * torch.finfo(size.dtype).eps
            vectors = vectors @ (turn[:, kept] / size[kept].sqrt())
        return vectors

    def _best(self, basis: Tensor) -> tuple[Tensor, Tensor]:
        """The eigenvalues of A within what the basis spans, the wanted ones first, and their vectors in it."""
        inner = basis.mT @ (self.A @ basis)
        values, vectors = torch.linalg.eigh((inner + inner.mT) / 2)
        return (values.flip(0), vectors.flip(1)) if self.bparams["largest"] else (values, vectors)

    def run(self) -> tuple[Tensor, Tensor]:
        width, wanted = self.iparams["n"], self.iparams["k"]
        basis = self._orthonormal(self.X)
        values, vectors = self._best(basis)
        self.E, self.X = values[:width], basis @ vectors[:, :width]
        while self._improvable() and self.ivars["iterations_left"] > 0 and not self.bvars.get("force_stop"):
            self.ivars["istep"] += 1
            self.ivars["iterations_left"] -= 1
            residual = self.R if self.iK is None else self.iK @ self.R
            before = self.X
            basis = self._orthonormal(torch.cat([before, residual, self.S], 1))
            values, vectors = self._best(basis)
            self.E, self.X = values[:width], basis @ vectors[:, :width]
            self.S = self.X - before @ (before.mT @ self._weighted(self.X))
        return self.E[:wanted].clone(), self.X[:, :wanted].clone()

    def _improvable(self) -> bool:
        """Computes the residuals and their sizes; whether one of the wanted is too large."""
        self.R = self.A @ self.X - self._weighted(self.X) * self.E
        scale = self.X.norm(dim=0) * (self._size_of_A() + self.E.abs() * self._size_of_B())
        self.tvars["rerr"] = self.R.norm(dim=0) / scale
        good = self.tvars["rerr"] < self.fparams["tol"]
        self.ivars["converged_count"] = int(good.cumprod(0).sum())
        if self.tracker is not None:
            self.tracker(self)
        return self.ivars["converged_count"] < self.iparams["k"]

    def _size_of_A(self) -> float:
        if "A_norm" not in self.fvars:
            self.fvars["A_norm"] = float((self.A @ self.X).norm() / self.X.norm())
        return self.fvars["A_norm"]

    def _size_of_B(self) -> float:
        if "B_norm" not in self.fvars:
            self.fvars["B_norm"] = float(self._weighted(self.X).norm() / self.X.norm())
        return self.fvars["B_norm"]


class _Differentiable(Function):
    @staticmethod
    def forward(ctx: Any, A: Tensor, B: Tensor | None, *rest: Any) -> tuple[Tensor, Tensor]:
        values, vectors = _solve(A, B, *rest)
        ctx.save_for_backward(A, values, vectors)
        ctx.generalized = B is not None
        return values, vectors

    @staticmethod
    def backward(ctx: Any, to_values: Tensor, to_vectors: Tensor) -> Any:
        if ctx.generalized:
            raise ValueError(
                "lobpcg.backward: there is no gradient with B; use torch.linalg.eigh of the whole problem"
            )
        if ctx.needs_input_grad[1]:
            raise ValueError("lobpcg.backward: there is no gradient of B")
        A, values, vectors = ctx.saved_tensors
        A = A.to_dense()
        # An eigenvector u moves by (e - A)^+ dA u; adding u u^T makes that inverse exist, and changes nothing beside u.
        rows = A.shape[-1]
        u = vectors.mT.unsqueeze(-1)
        identity = torch.eye(rows, dtype=A.dtype, device=A.device)
        shifted = values[..., None, None] * identity - A.unsqueeze(-3) + u @ u.mT
        slope = to_vectors.mT.unsqueeze(-1)
        moved = torch.linalg.solve(shifted, slope - u @ (u.mT @ slope)).squeeze(-1).mT
        whole = (vectors * to_values.unsqueeze(-2) + moved) @ vectors.mT
        return (whole + whole.mT) / 2, None, None, None, None, None, None, None, None


overrides.ask_first(sys.modules[__name__], {"lobpcg"}.__contains__)
