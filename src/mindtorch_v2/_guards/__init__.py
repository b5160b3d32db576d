"""``torch._guards``: which fake mode is meant."""

from __future__ import annotations

from typing import Any

from .._absent import names_of
from .._library import interception
from ..utils._pytree import tree_leaves


def _is_fake_mode(mode: Any) -> bool:
    return getattr(mode, "_infra_kind", None) == "FAKE"


def active_fake_mode() -> Any:
    """The innermost fake mode that is on; None if there is none."""
    return next((mode for mode in reversed(interception.stack()) if _is_fake_mode(mode)), None)


def detect_fake_mode(inputs: Any = None) -> Any:
    """The fake mode that is on, or that of fake tensors among the inputs; None if there is none."""
    stack = list(enumerate(reversed(interception.stack())))
    found = [(mode, "active fake mode", i) for i, mode in stack if _is_fake_mode(mode)]
    leaves = [] if inputs is None else tree_leaves(inputs)
    found += [
        (leaf.fake_mode, "fake tensor input", i)
        for i, leaf in enumerate(leaves)
        if hasattr(leaf, "fake_mode")
    ]
    if not found:
        return None
    mode, what, where = found[0]
    for other, other_what, other_where in found[1:]:
        if other is not mode:
            raise AssertionError(
                f"fake mode ({mode}) from {what} {where} doesn't match mode ({other}) from {other_what} {other_where}"
            )
    return mode


__getattr__ = names_of(__name__)
