"""Operators that PyTorch has for tests of autograd alone: their gradients are no derivatives, so that a test can see
which formula has run."""

from __future__ import annotations

import warnings
from typing import Any

from .._C import Tensor
from .function import Function


class _OneMore(Function):
    """A copy whose gradient is one larger."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad + 1

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        return tangent.clone()


class _Warning(Function):
    """A copy whose backward warns."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        return tensor.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        warnings.warn("Warn from backward", stacklevel=2)
        return grad.clone()


def _test_autograd_multiple_dispatch(self: Tensor, b: bool | None = None) -> Tensor:
    """With a flag it is made of other operators, and has their gradient."""
    return _OneMore.apply(self) if b is None else self.clone()


def _test_autograd_multiple_dispatch_view(self: Tensor) -> Tensor:
    return self.view(-1)


def _test_autograd_multiple_dispatch_view_copy(self: Tensor) -> Tensor:
    return self.view(-1).clone()


def _test_warn_in_autograd(self: Tensor) -> Tensor:
    made: Tensor = _Warning.apply(self)
    return made
