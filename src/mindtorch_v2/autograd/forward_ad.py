"""Dual numbers (forward-mode differentiation), which are not supported: each name says what to use instead."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


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


def unpack_dual(tensor: Any, *, level: int | None = None) -> Any:
    """Raises."""
    _refuse("unpack_dual")


class dual_level:
    """Raises when it is entered."""

    def __enter__(self) -> int:
        _refuse("dual_level")

    def __exit__(self, *exception: object) -> None:
        return None
