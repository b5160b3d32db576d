"""Matrices from their diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor
from .._sparse.parts import title_of


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """A sparse matrix with the rows of ``diagonals`` on the diagonals that ``offsets`` name.

    A diagonal below the main one begins with its first value, one above it leaves as many out as it is above.
    """
    rows = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    places = offsets.reshape(-1) if offsets.dim() == 0 else offsets
    if rows.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if places.dim() != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if rows.shape[0] != places.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({rows.shape[0]}) does not match the number of offsets ({places.shape[0]})"
        )
    if places.dtype != torch.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {title_of(places.dtype)}")
    if places.unique().shape[0] != places.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    kinds = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)
    if layout is not None and layout not in kinds:
        raise RuntimeError(
            f"Only output layouts (Sparse, SparseCsc, and SparseCsr) are supported, got {layout}"
        )
    high, wide = shape
    column = torch.arange(rows.shape[1], device=rows.device).expand(rows.shape)
    row = column - places.to(rows.device)[:, None]
    inside = (row >= 0) & (row < high) & (column < wide)
    made = torch.sparse_coo_tensor(torch.stack([row[inside], column[inside]]), rows[inside], (high, wide))
    return made if layout in (None, torch.sparse_coo) else made.to_sparse(layout=layout)
