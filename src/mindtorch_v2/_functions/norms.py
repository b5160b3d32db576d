"""`torch.norm`, which takes orders by name as well as by number."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _C
from .._C import Tensor


def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: _C.dtype | None = None,
) -> Tensor:
    """The p-norm over `dim` (all dimensions when None); "fro" is 2, "nuc" the sum of the singular values."""
    if p == "nuc":
        matrix = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
        return _C._linalg.matrix_norm(input, "nuc", tuple(matrix), keepdim, dtype=dtype, out=out)
    if isinstance(p, str):
        if p != "fro":
            raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
        if isinstance(dim, Sequence) and len(dim) > 2:
            raise ValueError(f"Expected at most 2 dimensions for a Frobenius norm, got {len(dim)}")
        p = 2.0
    order = 2.0 if p is None else p
    return _C._linalg.vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)


def _norm_method(
    self: Tensor,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: _C.dtype | None = None,
) -> Tensor:
    return norm(self, p, dim, keepdim, dtype=dtype)


_norm_method.__name__ = "norm"
setattr(Tensor, "norm", _norm_method)  # noqa: B010 - a method of the native type
