"""Views whose place is a tensor, or another's."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor


def narrow_at(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    if start.dim() != 0 or start.is_floating_point() or start.is_complex() or start.dtype == torch.bool:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return self.narrow(dim, int(start.item()), length)


def slice_inverse(
    self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """What `self` is a slice of, as a window of the same memory: laid out as `src` is."""
    return self.as_strided(src.shape, src.stride(), src.storage_offset())
