"""Linear maps."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from ... import _functions

__all__ = ["bilinear", "grouped_mm", "linear"]

bilinear = _functions.bilinear
linear = _functions.linear


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """A product for each group. Matrices of three dimensions have one for each; of those of two, ``offs`` says
    where each group's rows (or columns) end. Rows after the last group are zero.
    """
    if mat_a.dim() not in (2, 3):
        raise RuntimeError("mat_a has to be 2 or 3d")
    if mat_b.dim() not in (2, 3):
        raise RuntimeError("mat_b has to be 2 or 3d")
    if mat_a.size(-1) != mat_b.size(-2):
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if (offs is None) != (mat_a.dim() == 3 and mat_b.dim() == 3):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if offs is None:
        made = torch.bmm(mat_a, mat_b)
        return made if out_dtype is None else made.to(out_dtype)
    ends: list[int] = offs.tolist()
    starts = [0, *ends[:-1]]
    pieces = []
    for group, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if mat_a.dim() == 2 and mat_b.dim() == 2:  # parts of the dimension that is summed over
            pieces.append(mat_a[:, start:end] @ mat_b[start:end])
        elif mat_a.dim() == 2:
            pieces.append(mat_a[start:end] @ mat_b[group])
        else:
            pieces.append(mat_a[group] @ mat_b[:, start:end])
    if mat_a.dim() == 2 and mat_b.dim() == 2:
        made = torch.stack(pieces)
    else:
        dim = 0 if mat_a.dim() == 2 else 1
        made = torch.cat(pieces, dim)
        missing = (mat_a.size(0) if dim == 0 else mat_b.size(1)) - made.size(dim)
        if missing:
            shape = [*made.shape]
            shape[dim] = missing
            made = torch.cat([made, torch.zeros(shape, dtype=made.dtype, device=made.device)], dim)
    return made if out_dtype is None else made.to(out_dtype)
