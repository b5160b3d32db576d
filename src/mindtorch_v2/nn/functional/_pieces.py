"""Slices of a tensor whose gradients come together at once."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from ...autograd.function import Function


class _Pieces(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dim: int, sizes: list[int] | None) -> tuple[Tensor, ...]:
        ctx.dim, ctx.sizes = dim, sizes
        return tuple(tensor.unbind(dim) if sizes is None else tensor.split(sizes, dim))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        join = torch.stack if ctx.sizes is None else torch.cat
        return join(gradients, ctx.dim), None, None


def pieces(tensor: Tensor, dim: int, sizes: list[int] | None = None) -> tuple[Tensor, ...]:
    """``unbind``, or ``split`` where there are sizes.

    The gradients of those are added up one by one, each as large as the whole tensor, which for the steps of a
    long sequence is most of the work. Here one operator joins them.
    """
    if tensor.requires_grad:
        return _Pieces.apply(tensor, dim, sizes)  # type: ignore[no-any-return]
    return tuple(tensor.unbind(dim) if sizes is None else tensor.split(sizes, dim))
