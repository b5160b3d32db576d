"""Functions without writes in place, and what lies below a tensor inside vmap."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import _C
from .._C import Tensor


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func`` itself. PyTorch's function runs it with operators that write nothing, and writes what they made to the
    inputs at the end: results, inputs afterwards and gradients are those of ``func``, only a trace of its operators
    would be another one. Here histories are right when views are written (Note [Views and in-place writes] in
    csrc/autograd/inplace.cpp), so nothing has to be replaced."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced "
            "with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be "
            "replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @wraps(func)
    def functional(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functional


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What lies below a tensor inside vmap, the batch that it stands for; for printing and debuggers."""
    while _C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _C._functorch.get_unwrapped(tensor)
        if not recurse:
            break
    return tensor
