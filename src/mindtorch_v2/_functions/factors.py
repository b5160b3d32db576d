"""The LU factors of torch.lu."""

from __future__ import annotations

from .._C import Tensor
from .._C import _linalg as _native_linalg


def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """LU with LAPACK's pivots; get_infos adds LAPACK's status. torch.linalg.lu_factor is the newer name."""
    factors, pivots, infos = _native_linalg.lu_factor_ex(A, pivot=pivot)
    results = (factors, pivots, infos) if get_infos else (factors, pivots)
    if out is None:
        return results
    if len(out) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(out)}")
    for target, result in zip(out, results, strict=True):
        target.resize_(result.shape).copy_(result)
    return out
