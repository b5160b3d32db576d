"""The families of operators, a class each. A row is an object of its family's class.

The class says which keys a row must or may have, its variants and dtype where it names none, its shape rule, and all
that is written for it: C++ functions, kernels, the binding, its line of the support matrix.
"""

from __future__ import annotations

from ..row import Row
from .composed import Call, Composite, ForEach, InPython
from .elementwise import Binary, Compare, Elementwise, Predicate, Templated, Unary
from .kernels import InPlace, Kernel, Lists
from .reduce import Reduce
from .sparse import Sparse
from .view import View

__all__ = [
    "FAMILIES", "OWN_KEY", "TEMPLATED", "Binary", "Compare", "Elementwise", "Predicate", "Reduce", "Templated",
]  # fmt: skip

TEMPLATED: tuple[type[Templated], ...] = (Unary, Predicate, Binary, Compare, Reduce)
# A row of one of these says so by the key that names its function.
OWN_KEY: dict[str, type[Row]] = {
    "view": View, "composite": Composite, "python": InPython, "call": Call, "each": ForEach,
}  # fmt: skip
# The others are named by `family:`.
_NAMED: tuple[type[Row], ...] = (*TEMPLATED, Kernel, InPlace, Lists, Sparse)
FAMILIES = {cls.family: cls for cls in _NAMED}
