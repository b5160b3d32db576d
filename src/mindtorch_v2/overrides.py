"""``__torch_function__``: how subclasses of Tensor, other types, and modes take part in operators.

Note [Asked only when somebody listens]
Operators written in C++ see from the type of an argument whether somebody wants to be asked. Attributes, and functions
written in Python, could only find out at a cost for everyone. So they are given a wrapper that asks, but only once
there is somebody to ask: a subclass of Tensor gets wrapped attributes when it is defined, Tensor itself while a mode is
on. Functions ask from the first of either on, or of an object of fx: their code is exchanged, so that they stay the
objects they were, under whatever name somebody holds them.
"""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

from . import _C
from ._absent import names_of
from ._C import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


# ---- asking --------------------------------------------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is on, or one of the arguments has a __torch_function__ that is to be asked."""
    return _C._somebody_asks(tuple(relevant_args))


def has_torch_function_unary(arg: Any) -> bool:
    """``has_torch_function`` of one argument."""
    return _C._somebody_asks((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """``has_torch_function`` of the arguments."""
    return _C._somebody_asks(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Asks modes, then the arguments that want to be asked, subclasses first, for the result of ``public_api``."""
    return _C._ask_for(public_api, _full_name(public_api), tuple(relevant_args), args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether ``inp`` is a Tensor or has a __torch_function__."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Callable[..., Any]]:
    """Makes a function ask first; ``dispatcher`` takes its arguments and returns those that may be asked."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def asking(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if _C._somebody_asks(relevant):
                return _C._ask_for(asking, _full_name(asking), relevant, args, kwargs)
            return function(*args, **kwargs)

        return asking

    return wrap


def _full_name(function: Any) -> str:
    label = getattr(function, "__name__", repr(function))
    if label in ("__get__", "__set__"):
        return f"torch.Tensor.{function.__self__.__name__}.{label}"
    module = (getattr(function, "__module__", None) or "torch").replace("mindtorch_v2", "torch")
    return f"{module}.{label}"


class DisableTorchFunctionSubclass:
    """Inside, subclasses are treated as plain tensors; modes are still asked."""

    def __init__(self) -> None:
        self._previous: list[bool] = []

    def __enter__(self) -> None:
        self._previous.append(_C._set_overrides_enabled(False))

    def __exit__(self, *exception: object) -> None:
        _C._set_overrides_enabled(self._previous.pop())


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside, nobody is asked."""

    def __init__(self) -> None:
        super().__init__()
        self._modes: list[int] = []

    def __enter__(self) -> None:
        super().__enter__()
        self._modes.append(_C._set_function_modes(0))

    def __exit__(self, *exception: object) -> None:
        _C._set_function_modes(self._modes.pop())
        super().__exit__(*exception)


# ---- what a subclass does if it says nothing else ------------------------------------------------


@functools.cache
def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results the default implementation leaves as they are."""
    return {Tensor.__dict__[name].__get__ for name in ("_base", "grad")}


def _converted(value: Any, cls: type[Tensor]) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, cls):
        return value.as_subclass(cls)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_converted(v, cls) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_converted(v, cls) for v in value)
    return value


def _default_torch_function(
    cls: type[Tensor],
    func: Callable[..., Any],
    types: Iterable[type],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Runs the operator on plain tensors; what comes out becomes a ``cls``."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        made = func(*args, **(kwargs or {}))
    return made if func in get_default_nowrap_functions() else _converted(made, cls)


# ---- wrappers of attributes ----------------------------------------------------------------------

# What makes, names or compares objects themselves, and what asking is made of.
_NOT_ASKED = frozenset({
    "__class__", "__delattr__", "__dict__", "__doc__", "__getattribute__", "__hash__", "__init_subclass__", "__iter__",
    "__module__", "__new__", "__setattr__", "__torch_function__", "_legacy_new", "_make_subclass",
    "_register_accumulated_hook", "_register_hook", "_retains_grad", "_storage_handle", "as_subclass",
})  # fmt: skip
# Slots of Python's syntax that no operator stands behind; the others ask in C++.
_SYNTAX = (
    "__getitem__", "__setitem__", "__delitem__", "__len__", "__bool__", "__int__", "__float__", "__index__",
)  # fmt: skip


@functools.cache
def _wrapped_attributes() -> dict[str, Any]:
    """By name: what takes the place of an attribute of Tensor that does not ask by itself."""
    made: dict[str, Any] = {}
    for name, value in list(vars(Tensor).items()):
        if name in _NOT_ASKED:
            continue
        if isinstance(value, property):
            named = _NamedProperty(name, value)
            setattr(Tensor, name, named)
            made[name] = _AskingProperty(name, named)
        elif isinstance(value, types.GetSetDescriptorType):
            made[name] = _AskingProperty(name, value)
        elif isinstance(value, types.FunctionType) or name in _C._own_methods or name in _SYNTAX:
            made[name] = _asking_method(name, value)
    return made


class _NamedProperty(property):
    """A property that knows its name, as those written in C do: who is asked for a getter wants to know whose."""

    def __init__(self, name: str, plain: property) -> None:
        super().__init__(plain.fget, plain.fset, plain.fdel, plain.__doc__)
        self.__name__ = name


class _AskingProperty:
    """A property whose getter and setter are functions that can be asked for."""

    def __init__(self, name: str, plain: Any) -> None:
        self.__name__ = name
        self.__doc__ = plain.__doc__
        self._plain = plain

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self._plain
        if _C._somebody_asks((instance,)):
            get = self._plain.__get__
            return _C._ask_for(get, f"torch.Tensor.{self.__name__}.__get__", (instance,), (instance,), {})
        return self._plain.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        if _C._somebody_asks((instance,)):
            put, name = self._plain.__set__, f"torch.Tensor.{self.__name__}.__set__"
            _C._ask_for(put, name, (instance,), (instance, value), {})
        else:
            self._plain.__set__(instance, value)

    def __delete__(self, instance: Any) -> None:
        self._plain.__delete__(instance)


def _asking_method(name: str, plain: Any) -> Any:
    @functools.wraps(plain)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        relevant = (self, *args, *kwargs.values())
        if _C._somebody_asks(relevant):
            return _C._ask_for(plain, f"torch.Tensor.{name}", relevant, (self, *args), kwargs)
        return plain(self, *args, **kwargs)

    return method


def _init_subclass(cls: type[Tensor], /, **options: Any) -> None:
    super(Tensor, cls).__init_subclass__(**options)
    if cls.__torch_function__ is _C._disabled_torch_function_impl:
        return
    listen()
    for name, wrapper in _wrapped_attributes().items():
        # Only what comes from Tensor itself: a class in between may have its own.
        owner = next(base for base in cls.__mro__ if name in vars(base))
        if owner is Tensor:
            setattr(cls, name, wrapper)


# ---- wrappers of functions -----------------------------------------------------------------------

# Functions of torch that are about settings, seeds, types or numbers of elements rather than values of tensors.
_NOT_OPERATORS = frozenset({
    "are_deterministic_algorithms_enabled", "as_tensor", "asarray", "broadcast_shapes", "compile",
    "compiled_with_cxx11_abi", "fork_rng", "from_dlpack", "from_file", "from_numpy", "frombuffer",
    "get_default_device", "get_deterministic_debug_mode", "get_device_module", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_printoptions", "get_rng_state", "initial_seed",
    "is_deterministic_algorithms_warn_only_enabled", "is_storage", "is_tensor", "is_warn_always_enabled",
    "load", "manual_seed", "printoptions", "save", "seed", "set_default_device", "set_default_dtype",
    "set_default_tensor_type", "set_deterministic_debug_mode", "set_float32_matmul_precision",
    "set_flush_denormal", "set_num_interop_threads", "set_printoptions", "set_rng_state", "set_warn_always",
    "tensor", "to_dlpack", "typename",
    "use_deterministic_algorithms", "vmap",
})  # fmt: skip
# With a mode on, these ask as well, although no argument of theirs is a tensor.
_CREATING = ("as_tensor", "asarray", "tensor")


# The namespaces whose functions ask, by their public names. The package fills it in once it is complete.
namespaces: dict[str, Any] = {}
# Modules with functions that ask: their names, and which of those they have ask. Those written in Python are changed
# once somebody listens.
_asking_modules: list[tuple[Any, Callable[[str], bool]]] = []
_somebody_listens = False

# Functions that PyTorch writes in C: who is asked gets their arguments as the call has them.
_GIVEN_AS_CALLED = frozenset({
    "allclose", "as_tensor", "asarray", "avg_pool1d", "avg_pool2d", "avg_pool3d", "chain_matmul", "equal",
    "frobenius_norm", "get_device", "is_complex", "is_conj", "is_distributed", "is_floating_point", "is_inference",
    "is_neg", "is_nonzero", "is_same_size", "is_signed", "norm_except_dim", "nuclear_norm", "numel", "tensor", "vander",
})  # fmt: skip


def ask_first(module: Any, which: Callable[[str], bool] = lambda name: not name.startswith("_")) -> None:
    """Says that functions of a module ask before they run; a module that is loaded late calls it itself."""
    _asking_modules.append((module, which))
    if _somebody_listens:
        _wrap_functions_of(module, which)


def listen() -> None:
    """Says that there is somebody to ask: a subclass, a mode, or an object with __torch_function__."""
    global _somebody_listens
    if not _somebody_listens:
        _somebody_listens = True
        for module, which in _asking_modules:
            _wrap_functions_of(module, which)


def somebody_listens() -> bool:
    """Whether there ever was somebody to ask."""
    return _somebody_listens


def _wrap_functions_of(module: Any, which: Callable[[str], bool]) -> None:
    """Note [Asked only when somebody listens]."""
    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and which(name) and not hasattr(value, "__asks__"):
            _make_asking(value)


def _asks(name: str) -> bool:
    """Whether a function of torch asks."""
    return not name.startswith("_") and (name not in _NOT_OPERATORS or name in _CREATING)


class _Asking:
    """What a function that asks needs to know of itself."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.plain = types.FunctionType(
            function.__code__,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        self.plain.__kwdefaults__ = function.__kwdefaults__
        for name in ("__annotations__", "__doc__", "__module__", "__qualname__"):
            setattr(self.plain, name, getattr(function, name))
        vars(self.plain).update(vars(function))
        self.only_modes = function.__name__ in _CREATING

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Note [As they are given]
        Those who are asked get the arguments so: what has no default in order, the rest by name. A function that may be
        called in several forms says with ``__given__`` what its arguments are in the one they see.
        """
        if (one_form := getattr(self.plain, "__given__", None)) is not None:
            args = one_form(*args)
        if self.function.__name__ in _GIVEN_AS_CALLED:
            return args, kwargs
        bound = inspect.signature(self.plain).bind(*args, **kwargs)
        bound.apply_defaults()
        given: list[Any] = []
        named: dict[str, Any] = {}
        for name, parameter in bound.signature.parameters.items():
            value = bound.arguments[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                given += value
            elif parameter.kind is parameter.VAR_KEYWORD:
                named.update(value)
            elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
                given.append(value)
            else:
                named[name] = value
        return tuple(given), named

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        relevant = () if self.only_modes else (*args, *kwargs.values())
        if _C._somebody_asks(relevant):
            args, kwargs = self.given(args, kwargs)
            return _C._ask_for(self.function, _full_name(self.function), relevant, args, kwargs)
        return self.plain(*args, **kwargs)


def _make_asking(function: types.FunctionType) -> None:
    """The same function, asking: whoever holds it, or has it as a key, sees no change."""

    def asking(*args: Any, __asking: Any, **kwargs: Any) -> Any:
        return __asking(args, kwargs)

    how = _Asking(function)
    # Python wants as many cells as there were; they are not read.
    function.__code__ = asking.__code__.replace(
        co_freevars=function.__code__.co_freevars,
        co_name=function.__name__,
        co_qualname=function.__qualname__,
    )
    function.__defaults__, function.__kwdefaults__ = None, {"__asking": how}
    function.__wrapped__ = how.plain  # type: ignore[attr-defined] # what signatures and sources are read from
    function.__asks__ = True  # type: ignore[attr-defined]


# ---- modes ---------------------------------------------------------------------------------------


class _Modes(threading.local):
    def __init__(self) -> None:
        self.stack: list[TorchFunctionMode] = []


_modes = _Modes()
_anywhere = 0  # modes that are on, over all threads
_lock = threading.Lock()


class TorchFunctionMode:
    """While it is on (a context manager), every operator of this thread asks its ``__torch_function__`` first.

    The mode is off inside its own ``__torch_function__``, so that it may call the function it was given.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        _switch(1)
        _modes.stack.append(self)
        _C._set_function_modes(len(_modes.stack))
        return self

    def __exit__(self, *exception: object) -> None:
        _modes.stack.pop()
        _C._set_function_modes(len(_modes.stack))
        _switch(-1)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """``cls(*args, **kwargs)``, for a ``with`` statement."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _switch(change: int) -> None:
    """Tensor's own attributes ask while a mode is on in any thread."""
    global _anywhere
    with _lock:
        before, _anywhere = _anywhere, _anywhere + change
        if before == 0:
            listen()
            _plain_attributes.update({name: vars(Tensor)[name] for name in _wrapped_attributes()})
            for name, wrapper in _wrapped_attributes().items():
                setattr(Tensor, name, wrapper)
        elif _anywhere == 0:
            for name, plain in _plain_attributes.items():
                setattr(Tensor, name, plain)


_plain_attributes: dict[str, Any] = {}


def _ask_mode(
    func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    mode = _modes.stack.pop()
    _C._set_function_modes(len(_modes.stack))
    try:
        return mode.__torch_function__(func, types, args, kwargs)
    finally:
        _modes.stack.append(mode)
        _C._set_function_modes(len(_modes.stack))


# ---- what there is to override -------------------------------------------------------------------


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that never ask."""
    found = {getattr(namespaces["torch"], name) for name in _NOT_OPERATORS}
    return found | {value for name in _NOT_ASKED if callable(value := getattr(Tensor, name, None))}


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that ask, by the module or class they are in."""
    ignored = get_ignored_functions()
    spaces: dict[Any, list[Callable[..., Any]]] = {}
    for space in (*namespaces.values(), Tensor):
        found: list[Callable[..., Any]] = []
        for name in dir(space):
            value = getattr(space, name)
            if isinstance(value, (types.GetSetDescriptorType, property)):
                found.append(value.__get__)
            elif callable(value) and not isinstance(value, type) and not name.startswith("_C"):
                if (space is Tensor or not name.startswith("_")) and value not in ignored:
                    found.append(value)
        spaces[space] = found
    return spaces


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensor, or reads or writes one of its properties."""
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        return isinstance(getattr(func, "__self__", None), (types.GetSetDescriptorType, property))
    return vars(Tensor).get(name) is func or _plain_attributes.get(name) is func


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The public name of a function that asks: ``'torch.Tensor.add'``."""
    for label, space in {"torch.Tensor": Tensor, **namespaces}.items():
        for name in dir(space):
            value = getattr(space, name)
            if value is f:
                return f"{label}.{name}"
            if isinstance(value, (types.GetSetDescriptorType, property)) and value.__get__ == f:
                return f"{label}.{name}.__get__"
    return None


setattr(Tensor, "__torch_function__", classmethod(_default_torch_function))  # noqa: B010 - it becomes a method
setattr(Tensor, "__init_subclass__", classmethod(_init_subclass))  # noqa: B010
_C.DisableTorchFunction = DisableTorchFunction
_C.DisableTorchFunctionSubclass = DisableTorchFunctionSubclass
_C._set_mode_handler(_ask_mode)


__getattr__ = names_of(__name__)
