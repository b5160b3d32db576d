"""Names of torch about sizes and numbers that a tracer would not know yet, its checks, and names of types."""

from __future__ import annotations

import warnings
from typing import Any

from .. import _C


def typename(obj: Any, /) -> str:
    """The type of an object as text, ``torch.FloatTensor`` for a tensor."""
    if isinstance(obj, _C.Tensor):
        return str(obj.type())
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", "") or ""
    name: str = kind.__qualname__
    return name if module in ("", "builtins") else f"{module}.{name}"


class SymInt:
    """A size that is not known yet, when PyTorch traces a program; here every size is known."""


class SymFloat:
    """A number that is not known yet, when PyTorch traces a program; here every number is known."""


class SymBool:
    """A truth value that is not known yet, when PyTorch traces a program; here every one is known."""


class _Graph:
    """A TorchScript graph, as annotations of export functions name it (``torch._C.Graph``); there are none."""


def _log_api_usage_once(event: str) -> None:
    """Libraries tell PyTorch which of their classes are used; nobody counts here."""


def _get_tracing_state() -> None:
    """What TorchScript's tracer is doing: nothing."""


def _warn() -> None:
    """A warning as the library gives it, for programs that try out their filters."""
    warnings.warn("Test message for TORCH_WARN", UserWarning, stacklevel=2)


def _warn_deprecation() -> None:
    """The same for what is going to end."""
    warnings.warn("Test message for TORCH_WARN_DEPRECATION", DeprecationWarning, stacklevel=2)


def _is_alias_of(a: _C.Tensor, b: _C.Tensor) -> bool:
    """Whether two tensors share their storage."""
    return bool(a.untyped_storage()._cdata == b.untyped_storage()._cdata)


class DispatchKeySet:
    """A set of PyTorch's dispatch keys, which packages make to tell its dispatcher; there is none here to ask."""

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys - other._keys))

    def has(self, key: Any) -> bool:
        """Whether the set has a key."""
        return key in self._keys

    def add(self, key: Any) -> DispatchKeySet:
        """The set with a key more."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: Any) -> DispatchKeySet:
        """The set with a key less."""
        return DispatchKeySet(*(self._keys - {key}))


_C.DispatchKeySet = DispatchKeySet  # type: ignore[assignment,misc]
for _name in ("_get_tracing_state", "_is_alias_of", "_warn", "_warn_deprecation"):
    setattr(_C, _name, globals()[_name])
_C._GLIBCXX_USE_CXX11_ABI, _C._has_xpu = True, False
_C._TensorMeta = type(_C.Tensor)
_C.TensorBase = _C._TensorBase = _C.Tensor  # PyTorch has a class below Tensor
for _kind in (SymInt, SymFloat, SymBool):
    _kind.__module__ = __name__.partition(".")[0]
_C.Graph = _Graph  # type: ignore[assignment,misc]
_C._log_api_usage_once = _log_api_usage_once


def sym_int(a: Any) -> int:
    """int(a)."""
    return int(a)


def sym_float(a: Any) -> float:
    """float(a)."""
    return float(a)


def sym_max(a: Any, b: Any) -> Any:
    """max(a, b), a float if one of them is."""
    return float(max(a, b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """min(a, b), a float if one of them is."""
    return float(min(a, b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def sym_not(a: Any) -> bool:
    """not a."""
    return not a


def _check(cond: Any, message: Any = None) -> None:
    """Raises RuntimeError unless the condition holds; ``message`` is a function that makes the text."""
    _check_with(RuntimeError, cond, message)


def _check_tensor_all(cond: Any, message: Any = None) -> None:
    """Raises RuntimeError unless all elements of a tensor of booleans are True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """Raises an error unless all elements of a tensor of booleans are True."""
    if not isinstance(cond, _C.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _C.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, cond.all().item(), message)


def _check_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    if not isinstance(cond, (bool, SymBool)):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        raise error_type(
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
            if message is None
            else str(message())
        )


def _check_is_size(i: Any, message: Any = None) -> None:
    """Raises RuntimeError unless a number can be a size."""
    _check(i >= 0, message)


def _check_index(cond: Any, message: Any = None) -> None:
    """Raises IndexError unless the condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Any = None) -> None:
    """Raises ValueError unless the condition holds."""
    _check_with(ValueError, cond, message)


def _check_not_implemented(cond: Any, message: Any = None) -> None:
    """Raises NotImplementedError unless the condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_type(cond: Any, message: Any = None) -> None:
    """Raises TypeError unless the condition holds."""
    _check_with(TypeError, cond, message)
