"""PyTorch's answers in double precision, rounded once to the dtype under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def wide(value: Any) -> Any:
    """Floating tensors in double precision, everything else as it is."""
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def rounded(values: Any, dtype: torch.dtype) -> Any:
    """Floating tensors in `dtype`; of tuples and lists each."""
    if isinstance(values, (tuple, list)):
        return tuple(rounded(value, dtype) for value in values)
    return values.to(dtype) if values.is_floating_point() else values


def exact(function: Callable[..., Any], *arguments: Any, dtype: torch.dtype) -> Any:
    """What `function` gives for the arguments in double precision, rounded to `dtype`."""
    return rounded(function(*(wide(argument) for argument in arguments)), dtype)


def gradients(
    function: Callable[..., Any], grad: torch.Tensor, *inputs: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, ...]:
    """The gradients of `function` (one result) in its inputs, rounded to `dtype`."""
    leaves = [wide(x).detach().clone().requires_grad_() for x in inputs]
    made = torch.autograd.grad(function(*leaves), leaves, wide(grad))
    return tuple(value.to(dtype) for value in made)


def packed_bits(flags: torch.Tensor) -> torch.Tensor:
    """A dropout mask: one bit for each element, lowest first, in whole blocks of 128."""
    flat = torch.zeros((flags.numel() + 127) // 128 * 128, dtype=torch.int64)
    flat[: flags.numel()] = flags.flatten()
    return (flat.view(-1, 8) << torch.arange(8)).sum(1).to(torch.uint8)
