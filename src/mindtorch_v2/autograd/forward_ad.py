"""Dual numbers (forward-mode differentiation): tensors that carry the direction in which they move."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _C
from .._C import Tensor
from ..utils._contextlib import _DecoratorContextManager

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_current_level = -1
_native_level = 0  # the number that the level has among all transformations; torch.func has levels too


class UnpackedDualTensor(NamedTuple):
    """A tensor, and the direction it moves in: None for one that is not dual."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begins the level at which tensors may be dual; :class:`dual_level` ends it too."""
    global _current_level, _native_level
    if _current_level >= 0:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _native_level = _C._forward.enter_level()
    _current_level = 0
    return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends the level: no tensor is dual any more."""
    global _current_level
    if level is not None and level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if _current_level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    _C._forward.exit_level(_native_level)
    _current_level = -1


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of ``tensor`` that moves along ``tangent``."""
    if level is None:
        level = _current_level
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for name, given in (("primal", tensor), ("tangent", tangent)):
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {given.dtype}")
    if level != _current_level:
        raise RuntimeError("Invalid level given to _make_dual")
    return _C._forward.make_dual(tensor, tangent, _native_level)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A view of the tensor without its direction, and the direction; None for a tensor that is not dual."""
    if level is None:
        level = _current_level
    if level < 0 or level != _current_level:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_C._forward.unpack(tensor, _native_level))


class dual_level(_DecoratorContextManager):
    """Inside, tensors may be dual; what they moved along is gone at the end."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def _is_fwd_grad_enabled() -> bool:
    return _C._is_fwd_grad_enabled()


class _set_fwd_grad_enabled(_DecoratorContextManager):
    """Whether operators look at directions. Takes effect at once; as a context manager, until its end."""

    def __init__(self, mode: bool) -> None:
        self.prev = _C._set_fwd_grad_enabled(mode)
        self.mode = mode

    def __enter__(self) -> None:
        _C._set_fwd_grad_enabled(self.mode)

    def __exit__(self, *exception: object) -> None:
        _C._set_fwd_grad_enabled(self.prev)

    def clone(self) -> _set_fwd_grad_enabled:
        """For functions that it decorates."""
        return type(self)(self.mode)
