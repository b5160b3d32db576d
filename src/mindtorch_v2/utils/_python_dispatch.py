"""``torch.utils._python_dispatch``: what is asked about subclasses; modes that see every operator are not here."""

from __future__ import annotations

from typing import Any

from .._absent import names_of
from .._C import Tensor


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether tensors of a class are made of other tensors, which it takes apart and puts together."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor is of such a class."""
    return is_traceable_wrapper_subclass_type(type(t))


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes that see every operator: none."""
    return []


def _get_current_dispatch_mode() -> None:
    """The innermost of them."""


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether there is one."""
    return False


__getattr__ = names_of(__name__)
