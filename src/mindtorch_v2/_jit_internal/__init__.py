"""``torch._jit_internal``: the names behind ``torch.jit`` that packages import. There is no TorchScript."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035 - part of the namespace

from ..futures import Future
from ..jit import (
    _copy_to_script_wrapper as _copy_to_script_wrapper,
)
from ..jit import _drop as _drop
from ..jit import _overload as _overload
from ..jit import _overload_method as _overload_method
from ..jit import export, ignore, is_scripting, unused
from ..jit.annotations import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
)
from ..jit.annotations import BroadcastingList4 as BroadcastingList4
from ..jit.annotations import BroadcastingList5 as BroadcastingList5
from ..jit.annotations import BroadcastingList6 as BroadcastingList6
from ..jit.annotations import BroadcastingListCls as BroadcastingListCls

__all__ = [
    "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "Final", "Future", "List",
    "Optional", "Tuple", "Union", "boolean_dispatch", "export", "ignore", "is_scripting", "unused",
]  # fmt: skip


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str | None,
    func_name: str | None,
) -> Callable[..., Any]:
    """A function that calls one of two, by an argument that is True or False."""

    def chosen(*args: Any, **kwargs: Any) -> Any:
        asked = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if asked else if_false)(*args, **kwargs)

    chosen.__doc__ = if_true.__doc__ or if_false.__doc__
    if func_name is not None:
        chosen.__name__ = func_name
    if module_name is not None:
        chosen.__module__ = module_name
    return chosen


def is_optional(ann: Any) -> bool:
    """Whether an annotation is ``Optional[...]``."""
    return typing.get_origin(ann) is Union and type(None) in typing.get_args(ann)


def _qualified_name(obj: Any, mangle_name: bool = True) -> str:
    """A function's or class's name with its module, which TorchScript writes below ``__torch__``."""
    module = "__torch__" if obj.__module__ == "__main__" else f"__torch__.{obj.__module__}"
    return f"{module if mangle_name else obj.__module__}.{obj.__name__}"
