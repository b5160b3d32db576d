"""The operators of the table as functions, plus PyTorch's other names for some of them."""

from ._C import _functions as _native

__all__ = [name for name in dir(_native) if not name.startswith("__")]
globals().update({name: getattr(_native, name) for name in __all__})

_ALIASES = {
    "concat": "cat", "concatenate": "cat", "multiply": "mul", "subtract": "sub", "divide": "div",
    "true_divide": "div", "negative": "neg", "absolute": "abs", "clip": "clamp", "swapaxes": "transpose",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne",
}  # fmt: skip
globals().update({name: globals()[target] for name, target in _ALIASES.items()})
__all__ += list(_ALIASES)
