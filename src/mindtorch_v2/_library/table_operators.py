"""Operators of other packages that are rows of the table: ``torch.ops.torchvision.nms``.

Note [Compiled parts of other packages]
torchvision and torchaudio bring libraries of operators that are compiled against PyTorch's C++ library. Those operators
are rows of the table (``ops/vision.yaml``, ``ops/audio.yaml``), with kernels, shapes and gradients of their own. So
loading such a library is done before it begins, and what the packages register for the operators from Python (shapes,
gradients, autocast) is there already. A library that is not in ``LIBRARIES`` cannot be loaded, and says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from .. import _C
from .._absent import PACKAGE, name_of
from . import overloads
from .overloads import OneOverload

NAMESPACES = ("torchvision", "torchaudio", "_torchaudio", "image")
LIBRARIES = re.compile(r"\btorchvision/(_C|image)\b|\btorchaudio/lib/(_torchaudio|libtorchaudio)\b")


def has_operators_of(path: str | os.PathLike[str]) -> bool:
    """Whether the operators of a compiled library are in the table."""
    return LIBRARIES.search(os.fspath(path).replace(os.sep, "/")) is not None


class TableOperator(OneOverload):
    """What ``torch.ops.torchvision.name`` and its only overload, ``.default``, are."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name)
        self._function = function

    @property
    def default(self) -> Any:
        """What handlers see of it, if the table has it in C++."""
        return overloads.by_name(self._name, "") if overloads.overloads_of(self._name) else self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        relevant = (*args, *kwargs.values())
        if _C._somebody_asks(relevant):
            return _C._ask_for(self, f"torch.ops.{self._name.replace('::', '.')}", relevant, args, kwargs)
        return self._function(*args, **kwargs)

    def set_kernel(self, place: str | None, kernel: Callable[..., Any]) -> None:
        """Shapes, gradients and autocast are the row's. A kernel of somebody else's would be called by nobody."""
        if place is None or not place.lower().startswith(("meta", "autograd", "autocast")):
            raise NotImplementedError(
                f"{self._name} is an operator of this library, with a kernel of its own for every device: the one for "
                f"{place or 'all devices'!r} is not taken. Register it under another name (custom_op)."
            )

    def set_gradient(self, backward: Callable[..., Any], setup_context: Callable[..., Any] | None) -> None:
        """The row has one."""

    def set_vmap(self, rule: Callable[..., Any]) -> None:
        """The row says how it runs on batches."""

    def set_autocast(self, device_type: str, cast_inputs: _C.dtype) -> None:
        """``codegen/autocast.yaml`` says what autocast does to it."""


@cache
def found(name: str) -> TableOperator | None:
    """The operator called ``ns::name``, if the table has it or says why there is none."""
    namespace, _, short = name.partition("::")
    if namespace not in NAMESPACES:
        return None
    function = getattr(getattr(_C, f"_{namespace}"), short, None)
    if function is None:
        try:
            function = name_of(f"{PACKAGE}.ops.{namespace}", short)
        except AttributeError:
            return None
    return TableOperator(name, function)
