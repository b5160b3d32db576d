"""What new nodes inherit from those that are being run or replaced: where they come from."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._absent import names_of
from ._compatibility import compatibility
from .node import Node

__all__ = [
    "annotate", "format_stack", "get_current_meta", "has_preserved_node_meta", "preserve_node_meta",
    "reset_grad_fn_seq_nr", "set_current_meta", "set_grad_fn_seq_nr", "set_stack_trace",
]  # fmt: skip

_KEPT = (
    "nn_module_stack",
    "stack_trace",
    "custom",
    "original_aten",
    "recompute",
    "from_node",
    "source_fn_stack",
)

current_meta: dict[str, Any] = {}
should_preserve_node_meta = False


@compatibility(is_backward_compatible=False)
@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Inside, new nodes get what ``set_current_meta`` set."""
    global should_preserve_node_meta, current_meta
    before, meta = should_preserve_node_meta, current_meta.copy()
    should_preserve_node_meta = enable
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before, meta


@compatibility(is_backward_compatible=False)
def has_preserved_node_meta() -> bool:
    """Whether new nodes inherit."""
    return should_preserve_node_meta


@compatibility(is_backward_compatible=False)
@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Inside, new nodes get these entries in ``meta["custom"]``."""
    global current_meta
    before = current_meta
    current_meta = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        current_meta = before


@compatibility(is_backward_compatible=False)
def set_stack_trace(stack: list[str]) -> None:
    """The lines that new nodes get as their stack."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


@compatibility(is_backward_compatible=False)
def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """The number of the backward node that new nodes belong to."""
    if should_preserve_node_meta:
        current_meta["grad_fn_seq_nr"] = [*current_meta.get("grad_fn_seq_nr", []), seq_nr]
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


@compatibility(is_backward_compatible=False)
def reset_grad_fn_seq_nr() -> None:
    """Takes back the last such number."""
    if should_preserve_node_meta and current_meta.get("in_grad_fn", 0) > 0:
        current_meta["in_grad_fn"] -= 1
        current_meta["grad_fn_seq_nr"] = current_meta["grad_fn_seq_nr"][:-1]
        if not current_meta["in_grad_fn"]:
            del current_meta["in_grad_fn"], current_meta["grad_fn_seq_nr"]


@compatibility(is_backward_compatible=False)
def format_stack() -> list[str]:
    """The stack to keep: that of the node being run, or the program's."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@compatibility(is_backward_compatible=False)
@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Inside, new nodes inherit from ``node``."""
    global current_meta
    if not should_preserve_node_meta or not node.meta:
        yield
        return
    before = current_meta
    current_meta = node.meta.copy()
    try:
        yield
    finally:
        current_meta = before


@compatibility(is_backward_compatible=False)
def get_current_meta() -> dict[str, Any]:
    """What new nodes would inherit."""
    return current_meta


def meta_for_new_node() -> dict[str, Any]:
    """Copies of the entries that new nodes take."""
    return {key: copy.copy(current_meta[key]) for key in _KEPT if key in current_meta}


__getattr__ = names_of(__name__)
