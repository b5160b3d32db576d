"""Walking through dicts and lists within each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..._C import Tensor

__all__ = ["get_element", "set_element", "traverse_state_dict"]

PATH_ITEM = str | int
OBJ_PATH = tuple[PATH_ITEM, ...]


def _holds_tensors(value: Any) -> bool:
    """Whether a list is walked into: one of plain values is saved as one thing. Tuples always are."""
    if isinstance(value, list):
        return any(_holds_tensors(each) for each in value)
    return isinstance(value, (Tensor, Mapping))


def traverse_state_dict(
    state_dict: Mapping[Any, Any],
    visitor: Callable[[OBJ_PATH, Any], None],
    keep_traversing: Callable[[Any], bool] = _holds_tensors,
) -> None:
    """Calls ``visitor`` with the path of each value and the value."""

    def visit(path: OBJ_PATH, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, each in value.items():
                visit((*path, str(key)), each)
        elif isinstance(value, list) and keep_traversing(value):
            for index, each in enumerate(value):
                visit((*path, index), each)
        else:
            visitor(path, value)

    visit((), state_dict)


def set_element(root_dict: Any, path: OBJ_PATH, value: Any) -> None:
    """Puts a value at a path; dicts and lists on the way are made."""
    here: Any = root_dict
    for step, following in zip(path, [*path[1:], None], strict=True):
        if isinstance(here, list):
            assert isinstance(step, int)
            here.extend([None] * (step + 1 - len(here)))
            absent = here[step] is None
        else:
            step = _key(here, step)
            absent = step not in here
        if following is None:
            here[step] = value
            return
        if absent:
            here[step] = [] if isinstance(following, int) else {}
        here = here[step]


def get_element(root_dict: Any, path: OBJ_PATH, default_value: Any = None) -> Any:
    """The value at a path."""
    here: Any = root_dict
    for step in path:
        if isinstance(here, list):
            if not isinstance(step, int) or step >= len(here):
                return default_value
        elif isinstance(here, Mapping):
            step = _key(here, step)
            if step not in here:
                return default_value
        else:
            return default_value
        here = here[step]
    return here


def _key(mapping: Any, step: PATH_ITEM) -> Any:
    """The key that a path means: paths have texts for keys of every kind."""
    if step in mapping:
        return step
    return next((key for key in mapping if str(key) == step), step)
