"""Generated source as functions, and what it imports."""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ._names import _custom_builtins
from ._qualified_names import PACKAGE, public_module

_numbers = itertools.count()


def _exec_with_source(src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> None:
    """Runs source whose lines tracebacks can show."""
    key = f"<eval_with_key>.{next(_numbers)}"
    if co_fields:
        key += f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
    # Without a time of change, the cache keeps lines that no file has.
    linecache.cache[key] = (len(src), None, src.splitlines(keepends=True), key)
    # What this file takes from the future is not the code's: its annotations are values.
    exec(compile(src, key, "exec", dont_inherit=True), globals)


def _forward_from_src(
    src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None
) -> Callable[..., Any]:
    """The function ``forward`` that the source defines."""
    names = globals.copy()
    _exec_with_source(src, names, co_fields)
    return names["forward"]  # type: ignore[no-any-return]


def _format_import_statement(name: str, obj: Any) -> str:
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    if isinstance(obj, ModuleType):
        return f"import {public_module(obj.__name__)} as {name}"
    module = getattr(obj, "__module__", None) or "builtins"
    return f"from {public_module(module)} import {obj.__name__} as {name}"


def _format_import_block(globals: dict[str, Any]) -> str:
    """The lines that give a file the globals of generated code."""
    return "\n".join(sorted({_format_import_statement(name, obj) for name, obj in globals.items()}))


def for_this_package(source: str) -> str:
    """Source that imports from torch, made to import from this package if it has another name."""
    if PACKAGE == "torch":
        return source
    source = re.sub(r"^import torch$", f"import {PACKAGE} as torch", source, flags=re.MULTILINE)
    source = re.sub(r"^import torch\.", f"import {PACKAGE}.", source, flags=re.MULTILINE)
    return re.sub(r"^from torch\b", f"from {PACKAGE}", source, flags=re.MULTILINE)
