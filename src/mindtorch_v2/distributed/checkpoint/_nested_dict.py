"""Dicts within dicts as one dict, whose keys are the paths: ``model.layer.weight``."""

from __future__ import annotations

from typing import Any

from ._traverse import OBJ_PATH, set_element, traverse_state_dict

FLATTEN_MAPPING = dict[str, OBJ_PATH]


def flatten_state_dict(state_dict: dict[str, Any]) -> tuple[dict[str, Any], FLATTEN_MAPPING]:
    """The values by the text of their path, and the path of each text."""
    flat: dict[str, Any] = {}
    paths: FLATTEN_MAPPING = {}

    def visited(path: OBJ_PATH, value: Any) -> None:
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path

    traverse_state_dict(state_dict, visited)
    return flat, paths


def unflatten_state_dict(state_dict: dict[str, Any], mapping: FLATTEN_MAPPING) -> dict[str, Any]:
    """Dicts within dicts again."""
    nested: dict[str, Any] = {}
    for key, value in state_dict.items():
        set_element(nested, mapping[key], value)
    return nested
