"""``Variable``, the name tensors with gradients had before PyTorch 0.4; ``Variable(x)`` gives a tensor."""

from __future__ import annotations

import warnings
from typing import Any

from .._C import Tensor
from ._engine import _EngineBase

__all__ = ["Variable"]


class VariableMeta(type):
    """Every tensor is an instance of Variable."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """Use tensors in new programs."""

    _execution_engine = _EngineBase()

    def __new__(  # type: ignore[misc] # it makes a tensor
        cls, data: Any = None, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                stacklevel=2,
            )
        if data is None:
            from .._functions import empty

            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


def _engine_run_backward(t_outputs: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """A pass by the engine's own function, for those who call it below ``backward`` and ``grad``."""
    return Variable._execution_engine.run_backward(t_outputs, *args, **kwargs)
