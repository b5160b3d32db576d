"""Names of nodes and of globals of generated code: one for each, none that Python or the code itself needs."""

from __future__ import annotations

import builtins
import keyword
import math
import re
from typing import Any, NamedTuple

import mindtorch_v2 as torch

from ..utils import _pytree as pytree
from . import _pytree as fx_pytree


class _CustomBuiltin(NamedTuple):
    """A global that every generated function has, and the line that imports it elsewhere."""

    import_str: str
    obj: Any


_custom_builtins: dict[str, _CustomBuiltin] = {
    "inf": _CustomBuiltin("from math import inf", math.inf),
    "nan": _CustomBuiltin("from math import nan", math.nan),
    "NoneType": _CustomBuiltin("NoneType = type(None)", type(None)),
    "torch": _CustomBuiltin("import torch", torch),
    "device": _CustomBuiltin("from torch import device", torch.device),
    "fx_pytree": _CustomBuiltin("import torch.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _CustomBuiltin("import torch.utils._pytree as pytree", pytree),
}


def _register_custom_builtin(name: str, import_str: str, obj: object) -> None:
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


_NOBODY = object()


def _snake_case(s: str) -> str:
    """``Conv2d`` as ``conv2d``, ``toInt`` as ``to_int``."""
    made = []
    for index, letter in enumerate(s):
        if letter.isupper() and index and s[index - 1].islower():
            made.append("_")
        made.append(letter.lower())
    return "".join(made)


def _is_magic(x: str) -> bool:
    return x.startswith("__") and x.endswith("__")


def name_of_target(target: Any) -> str:
    """What a node is called if nobody says."""
    if callable(target):
        from ._qualified_names import is_of_package, is_operator, qualified_name

        op = target.__name__ if hasattr(target, "__name__") else str(target)
        if is_of_package(target) and not isinstance(target, type) and not is_operator(target):
            op = qualified_name(target).rpartition(".")[2]
    else:
        if not isinstance(target, str):
            raise AssertionError(f"Expected target to be str, got {type(target)}")
        op = target
        if _is_magic(op):
            op = op[2:-2]
    return _snake_case(op.replace(".", "_"))


class _Namespace:
    """Hands out names, ``relu``, ``relu_1`` and so on."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: object | None) -> str:
        """A name like ``candidate``, the same one for the same object."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        base, number = candidate, self._base_count.get(candidate, 0)
        if match := re.fullmatch(r"(.*)_(\d+)", candidate):
            base, number = match[1], int(match[2])
            if candidate in self._used_names:
                number = max(number, self._base_count.get(base, 0))
        elif candidate in self._used_names or self._is_illegal_name(candidate, obj):
            number = max(number, self._base_count.get(base, 0)) + 1
            candidate = f"{base}_{number}"
        while candidate in self._used_names or self._is_illegal_name(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = max(number, self._base_count.get(base, 0))
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: object) -> None:
        """Says that a name is that of an object."""
        if self._obj_to_name.setdefault(obj, name) != name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj: object, name: str) -> None:
        if obj in self._obj_to_name:
            self._obj_to_name[obj] = name
        self._used_names.add(name)

    def _is_illegal_name(self, name: str, obj: object) -> bool:
        """Whether a name is Python's or the code's own, and not for this very object."""
        if name in keyword.kwlist:
            return True
        if (builtin := vars(builtins).get(name, _NOBODY)) is not _NOBODY:
            return builtin is not obj
        custom = _custom_builtins.get(name)
        return custom is not None and custom.obj is not obj
