"""The operators of the table as functions, plus PyTorch's other names for some of them."""

from typing import TYPE_CHECKING

from .._C import _functions as _native

if TYPE_CHECKING:  # what the update below brings
    from .._C._functions import *  # noqa: F403


_operators = {name: value for name, value in vars(_native).items() if not name.startswith("__")}
_other_names = [name for name in globals() if name[0] != "_" and name != "TYPE_CHECKING"]
# __all__ also holds the operators whose names begin with an underscore. It is set unseen by type checkers:
# they take a list that they cannot read for an empty one.
globals().update(_operators, __all__=[*_operators, *_other_names])
