"""Dual numbers (forward-mode differentiation), which are not supported: what makes them says what to use instead."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from .._C import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """A tensor, and the direction it moves in: None for one that is not dual."""

    primal: Tensor
    tangent: Tensor | None


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.autograd.forward_ad.{name}: dual tensors are not supported; torch.func.jvp and "
        "torch.autograd.functional.jvp compute the same products"
    )


def enter_dual_level() -> int:
    """Raises."""
    _refuse("enter_dual_level")


def exit_dual_level(*, level: int | None = None) -> None:
    """Raises."""
    _refuse("exit_dual_level")


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """Raises."""
    _refuse("make_dual")


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The two parts of a tensor. None is dual here, so the second is None."""
    return UnpackedDualTensor(tensor, None)


class dual_level:
    """Raises when it is entered."""

    def __enter__(self) -> int:
        _refuse("dual_level")

    def __exit__(self, *exception: object) -> None:
        return None
