"""``torch._vmap_internals``: vmap as it was before ``torch.func``, by the private name that packages still import."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import func as _func
from ..utils._pytree import TreeSpec, tree_flatten


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0) -> Callable[..., Any]:
    """``torch.vmap`` under its older name."""
    warnings.warn("Please use torch.vmap instead of torch._vmap_internals.vmap.", FutureWarning, stacklevel=2)
    return _vmap(func, in_dims, out_dims)


def _vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable[..., Any]:
    """A function over slices; with ``allow_none_pass_through`` a result may be None and stays it."""
    if not allow_none_pass_through:
        return _func.vmap(func, in_dims, out_dims, randomness="different")

    @wraps(func)
    def mapped(*args: Any) -> Any:
        spec: TreeSpec | None = None
        absent: list[bool] = []

        def tensors_of(*slices: Any) -> tuple[Any, ...]:
            nonlocal spec, absent
            leaves, spec = tree_flatten(func(*slices))
            absent = [leaf is None for leaf in leaves]
            return tuple(leaf for leaf in leaves if leaf is not None)

        found = iter(_func.vmap(tensors_of, in_dims, out_dims, randomness="different")(*args))
        assert spec is not None
        return spec.unflatten([None if nothing else next(found) for nothing in absent])

    return mapped
