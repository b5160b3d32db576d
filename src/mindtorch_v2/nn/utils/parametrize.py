"""Parameters that are computed from others: orthogonal weights, symmetric ones, and so on.

The parameter becomes a property of the module's class, which is changed for this one module. Its value is what
the parametrizations make of the ``original`` tensors, which are the ones that are trained.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Inside, every parametrized tensor is computed once."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register_parameter_or_buffer(module: Module, name: str, X: Tensor) -> None:
    if isinstance(X, Parameter):
        module.register_parameter(name, X)
    else:
        module.register_buffer(name, X)


def _check_same(what: str, before: Tensor, after: Tensor, names: tuple[str, str]) -> None:
    for attribute in ("dtype", "shape"):
        if getattr(before, attribute) != getattr(after, attribute):
            raise ValueError(
                f"{what} may not change the {attribute} of the tensor, unless `unsafe` flag is enabled.\n"
                f"{names[0]} {attribute}: {getattr(before, attribute)}\n"
                f"{names[1]} {attribute}: {getattr(after, attribute)}"
            )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order in which they are applied, and the original tensors."""

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with torch.no_grad():
            for parametrization in reversed(list(self)):
                if hasattr(parametrization, "right_inverse"):
                    new = parametrization.right_inverse(new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, Tensor):
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            # The same object, which an optimizer may hold, with the value that gives the present weight.
            with torch.no_grad():
                original.data = new.detach()
            _register_parameter_or_buffer(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(part).__name__}."
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part.detach(), original.requires_grad)
                part.requires_grad_(original.requires_grad)
                _register_parameter_or_buffer(self, f"original{i}", part)
        if not unsafe:
            made = self()
            if not isinstance(made, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
            before = torch.empty(shape, dtype=dtype, device="meta")
            _check_same("Registering a parametrization", before, made, ("unparametrized", "parametrized"))

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Sets the original tensors so that the parametrized one becomes ``value``."""
        new: Any = value
        with torch.no_grad():
            for parametrization in reversed(list(self)):
                if not hasattr(parametrization, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(parametrization).__name__} does not implement right_inverse."
                    )
                new = parametrization.right_inverse(new)
            if self.is_tensor:
                if not isinstance(new, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
                if value.dtype != new.dtype:
                    raise ValueError(
                        "The tensor returned by `parametrization.right_inverse` has dtype "
                        f"{new.dtype} while `value` has dtype {value.dtype}"
                    )
                self.original.data = new.detach()
                return
            if not isinstance(new, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(new)}.")
            if len(new) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(new)}."
                )
            for i, (tensor, original) in enumerate(zip(new, self._originals(), strict=True)):
                if not isinstance(tensor, Tensor):
                    raise ValueError(
                        f"`right_inverse` must return a sequence of tensors. Got element {i} of type "
                        f"{type(tensor).__name__}"
                    )
                if original.dtype != tensor.dtype:
                    raise ValueError(
                        f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while `original{i}` "
                        f"has dtype {original.dtype}"
                    )
                original.data = tensor.detach()

    def forward(self) -> Tensor:
        first, *others = list(self)
        value: Tensor = first(*self._originals())
        for parametrization in others:
            value = parametrization(value)
        return value


def _refuse_pickling(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _deep_copy(self: Any, memo: dict[int, Any]) -> Any:
    kind: Any = type(self)
    replica = kind.__new__(kind)
    memo[id(self)] = replica
    replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
    # Properties belong to the class, so the copy needs a class of its own.
    original = type_before_parametrizations(self)
    replica.__class__ = original
    _inject_new_class(replica)
    for name in replica.parametrizations:
        _inject_property(replica, name)
    return replica


def _inject_new_class(module: Module) -> None:
    """Gives a module a class of its own, derived from the one it has."""
    cls = type(module)
    members: dict[str, Any] = {"__getstate__": _refuse_pickling, "__module__": __name__}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deep_copy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, tensor_name: str) -> None:
    def get(self: Any) -> Tensor:
        compute: Any = self.parametrizations[tensor_name]
        if not _cache_enabled:
            return compute()  # type: ignore[no-any-return]
        key = (id(self), tensor_name)
        if key not in _cache:
            _cache[key] = compute()
        return _cache[key]

    def set_value(self: Any, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get, set_value))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Puts ``parametrization`` between a tensor of the module and those who use it.

    With ``right_inverse`` the tensor keeps its value and can be assigned to. ``unsafe``: shape and dtype may
    change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        listed: Any = module.parametrizations[tensor_name]
        if not unsafe:
            value = getattr(module, tensor_name)
            made = parametrization(value)
            if not isinstance(made, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
            _check_same(
                "Registering a parametrization",
                value,
                made,
                ("module.parametrization", "parametrization(module.parametrization)"),
            )
            if hasattr(parametrization, "right_inverse"):
                inverse = parametrization.right_inverse(made)
                if not isinstance(inverse, Tensor):
                    raise ValueError(
                        f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}"
                    )
                _check_same(
                    "The tensor returned by parametrization.right_inverse",
                    value,
                    inverse,
                    ("module.parametrization", "right_inverse"),
                )
        listed.append(parametrization)
        listed.unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    made_list = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_new_class(module)
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = made_list
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module has parametrizations, or one of the tensor."""
    found = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes the tensor an ordinary one again: with the value it has now, or with the original's."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed: Any = module.parametrizations[tensor_name]
    originals = listed._originals()
    if listed.is_tensor:
        result = originals[0]
        if leave_parametrized:
            with torch.no_grad():
                result.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name).detach()
        trained = any(tensor.requires_grad for tensor in originals)
        result = Parameter(value) if trained else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms "
            "of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, result)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module was made with."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copies parametrizations, and the tensors they have, to another module."""
    if not is_parametrized(from_module):
        return to_module
    if tensor_name is not None and not is_parametrized(from_module, tensor_name):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        source: Any = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, getattr(from_module, name))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        target: Any = to_module.parametrizations[name]
        with torch.no_grad():
            for own, other in zip(target._originals(), source._originals(), strict=True):
                own.data = other.detach().clone()
    return to_module
