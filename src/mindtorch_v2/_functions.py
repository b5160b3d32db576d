"""The operators of the table as functions, plus PyTorch's other names for some of them."""

from typing import TYPE_CHECKING

from ._C import _functions as _native

if TYPE_CHECKING:  # what the update below brings
    from ._C._functions import *  # noqa: F403

multiply = _native.mul
subtract = _native.sub
divide = true_divide = _native.div
negative = _native.neg
absolute = _native.abs
clip = _native.clamp
greater = _native.gt
greater_equal = _native.ge
less = _native.lt
less_equal = _native.le
not_equal = _native.ne

_operators = {name: value for name, value in vars(_native).items() if not name.startswith("__")}
_other_names = [name for name in globals() if name[0] != "_" and name != "TYPE_CHECKING"]
# __all__ also holds the operators whose names begin with an underscore. It is set unseen by type checkers:
# they take a list that they cannot read for an empty one.
globals().update(_operators, __all__=[*_operators, *_other_names])
