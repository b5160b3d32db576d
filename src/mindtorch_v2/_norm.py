"""`torch.norm`, which takes orders by name as well as by number."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from . import _C
from ._C import Tensor


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
        matrix = tuple(range(input.dim())) if dim is None else dim
        return _linalg().matrix_norm(input, p, matrix, keepdim, dtype=dtype, out=out)
    if isinstance(p, str):
        if p != "fro":
            raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
        if isinstance(dim, Sequence) and len(dim) > 2:
            raise ValueError(f"Expected at most 2 dimensions for a Frobenius norm, got {len(dim)}")
    order = 2.0 if p is None or p == "fro" else p
    return _C._linalg.vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)


def _linalg() -> ModuleType:
    from . import linalg  # late, because it is built on this package

    return linalg


def _norm_method(
    self: Tensor,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: _C.dtype | None = None,
) -> Tensor:
    return norm(self, p, dim, keepdim, dtype=dtype)


_norm_method.__name__ = "norm"
Tensor.norm = _norm_method
