"""Operators by name, as functions over nested tensors. Note [Nested tensors] in nested_tensor.py."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2.overrides import DisableTorchFunctionSubclass

Rule = Callable[..., Any]
Kind = TypeVar("Kind", bound=Rule)
# Native methods that are about the tensor itself, not its values.
_AS_THEY_ARE = frozenset(
    "backward requires_grad_ retain_grad register_hook is_floating_point is_complex is_signed is_conj is_neg "
    "is_inference dim ndimension element_size get_device type _is_view storage_offset __hash__ _register_hook "
    "data_ptr __dir__ has_names is_set_to "
    "_set_grad _post_accumulate_hook register_post_accumulate_grad_hook".split()
)


class Table:
    """The rules of one class of nested tensors; those of its families are read when the first is asked for."""

    def __init__(self, *families: str) -> None:
        self._families = families
        self._rules: dict[str, Rule] = {}
        self._found: dict[Any, tuple[str, Rule | None]] = {}

    def rule(self, *names: str) -> Callable[[Kind], Kind]:
        """Makes a function that of operators. It gets the operator that was called, and its arguments."""

        def decorate(function: Kind) -> Kind:
            self._rules.update(dict.fromkeys(names, function))
            return function

        return decorate

    def _find(self, func: Any) -> tuple[str, Rule | None]:
        for family in self._families:
            import_module(f"{__package__}.{family}")
        name = name_of(func)
        found = self._found[func] = (name, self._rules.get(name))
        return found

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function, method or attribute gives for nested tensors."""
        name, found = self._found.get(func) or self._find(func)
        if found is not None:
            return found(func, *args, **kwargs)
        if (
            body := getattr(func, "__wrapped__", None)
        ) is not None:  # written in Python: of parts that ask again
            return body(*args, **kwargs)
        if name.startswith(".") or name in _AS_THEY_ARE:
            with DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        raise refuse(name)

    def call_below_history(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What native code calls instead of an operator's kernel."""
        before = _C._set_overrides_enabled(True)
        try:
            with torch.no_grad():
                return self.call(func, args, kwargs)
        finally:
            _C._set_overrides_enabled(before)


jagged = Table(
    "attributes",
    "conversions",
    "pointwise",
    "reductions",
    "shapes",
    "indexing",
    "products",
    "layers",
    "lists",
)
strided = Table("strided")
rule = jagged.rule


def name_of(func: Any) -> str:
    """ "add" of Tensor.add, torch.add, torch.ops.aten.add.Tensor; ".shape" of an attribute; "linalg_norm"."""
    name: str = func.__name__
    if name in ("__get__", "__set__"):
        return f".{func.__self__.__name__}" + ("=" if name == "__set__" else "")
    module = (getattr(func, "__module__", None) or "").rpartition(".")[2]
    if module in ("_linalg", "_fft", "_special"):
        return f"{module[1:]}_{name}"
    return name.partition(".")[0]


def refuse(name: str) -> NotImplementedError:
    """An operator that is not here."""
    return NotImplementedError(
        f"{name}() of nested tensors is not there. Work on values(), on each tensor of unbind(), or on "
        "to_padded_tensor(), and make a nested tensor of the result"
    )
