"""Functions that programs from before methods of tensors had gradients apply."""

from __future__ import annotations

import functools
import operator
from typing import Any

from .._C import Tensor
from .function import Function

__all__ = ["Resize"]


class Resize(Function):
    """A tensor in another shape with as many elements."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
        wanted = functools.reduce(operator.mul, sizes, 1)
        if tensor.numel() != wanted:
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({wanted} elements in total), but the given tensor "
                f"has a size of {'x'.join(map(str, tensor.shape))} ({tensor.numel()} elements). autograd's resize can "
                "only change the shape of a given tensor, while preserving the number of elements."
            )
        ctx.input_sizes = tensor.shape
        return tensor.detach().clone().reshape(sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        return grad_output.reshape(ctx.input_sizes), None
