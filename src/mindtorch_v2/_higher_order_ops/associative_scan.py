"""Running results of an associative function along a dimension, all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from ..utils._pytree import tree_flatten


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """The i-th result combines the first i + 1 elements; in about log2(n) calls of the function on whole slices.

    After the step of width w, each place holds the combination of the 2w elements up to it.
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise ValueError("xs leaves must be a Tensor")
    axis = dim % leaves[0].dim()
    length = leaves[0].shape[axis]
    if reverse:
        leaves = [leaf.flip([axis]) for leaf in leaves]
    width = 1
    while width < length:
        earlier = spec.unflatten([leaf.narrow(axis, 0, length - width) for leaf in leaves])
        later = spec.unflatten([leaf.narrow(axis, width, length - width) for leaf in leaves])
        combined = tree_flatten(combine_fn(earlier, later))[0]
        leaves = [
            torch.cat([leaf.narrow(axis, 0, width), new], axis)
            for leaf, new in zip(leaves, combined, strict=True)
        ]
        width *= 2
    if reverse:
        leaves = [leaf.flip([axis]) for leaf in leaves]
    return spec.unflatten(leaves)
