"""``__torch_function__``: how subclasses of Tensor, other types, and modes take part in operators.

Note [Asked only when somebody listens]
Operators, attributes and methods written in C++ see from the type of an argument whether somebody wants to be asked.
What is written in Python could only find out at a cost for everyone. So it asks only once there is somebody to ask:
from the first subclass of Tensor, mode, or object of fx on. Then the code of functions, methods and properties is
exchanged, so that they stay the objects they were, under whatever name somebody holds them.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

from .. import _C
from .._absent import names_of
from .._C import Tensor
from . import _overridable
from ._overridable import _NOT_ASKED, _NOT_OPERATORS, asking_modules
from ._overridable import namespaces as namespaces  # the package fills it in

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
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


def has_torch_function(relevant_args: Sequence[Any]) -> bool:
    """Whether a mode is on, or one of the arguments has a __torch_function__ that is to be asked."""
    if not isinstance(relevant_args, (tuple, list)):
        raise TypeError(f"has_torch_function(): expected a sequence, got {type(relevant_args).__name__}")
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
        self._modes: list[bool] = []

    def __enter__(self) -> None:
        super().__enter__()
        self._modes.append(_switch_modes(off=True))

    def __exit__(self, *exception: object) -> None:
        _switch_modes(off=self._modes.pop())
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


# ---- methods and properties written in Python ----------------------------------------------------


def _through(native: Any) -> Callable[[Any], Any]:
    def get(tensor: Any) -> Any:
        return native(tensor)

    return get


class _NamedProperty(property):
    """A property that knows its name, as those written in C do: who is asked for a getter wants to know whose."""

    def __init__(self, name: str, plain: property) -> None:
        get = plain.fget
        if not isinstance(get, types.FunctionType):  # a function of C++, which asks under its own name
            get = _through(plain.fget)
        super().__init__(get, plain.fset, plain.fdel, plain.__doc__)
        self.__name__ = name
        self.__qualname__ = f"Tensor.{name}"


def _make_attributes_ask() -> None:
    for name, value in list(vars(Tensor).items()):
        if name in _NOT_ASKED:
            continue
        if isinstance(value, property):
            named = _NamedProperty(name, value)
            value = named
            setattr(Tensor, name, named)
            for function, public in ((value.fget, named.__get__), (value.fset, named.__set__)):
                if isinstance(function, types.FunctionType):
                    _make_asking(function, public)
        elif isinstance(value, types.FunctionType) and not hasattr(value, "__asks__"):
            value.__module__ = "torch"
            _make_asking(value, given_as_called=True)


def _init_subclass(cls: type[Tensor], /, **options: Any) -> None:
    super(Tensor, cls).__init_subclass__(**options)
    takes_operators = cls.__torch_dispatch__ is not Tensor.__torch_dispatch__
    if takes_operators and getattr(cls.__torch_function__, "__func__", None) is _default_torch_function:
        cls.__torch_function__ = _C._disabled_torch_function_impl  # what it gets says what comes out
    if cls.__torch_function__ is not _C._disabled_torch_function_impl:
        listen()


# ---- wrappers of functions -----------------------------------------------------------------------

# With a mode on, these ask as well, although no argument of theirs is a tensor.
_CREATING = ("as_tensor", "asarray", "tensor")


_somebody_listens = False

# Functions that PyTorch writes in C: who is asked gets their arguments as the call has them.
_GIVEN_AS_CALLED = frozenset({
    "allclose", "as_tensor", "asarray", "avg_pool1d", "avg_pool2d", "avg_pool3d", "chain_matmul", "equal",
    "frobenius_norm", "get_device", "is_complex", "is_conj", "is_distributed", "is_floating_point", "is_inference",
    "is_neg", "is_nonzero", "is_same_size", "is_signed", "norm_except_dim", "nuclear_norm", "numel", "tensor", "vander",
})  # fmt: skip


def ask_first(module: Any, which: Callable[[str], bool] = lambda name: not name.startswith("_")) -> None:
    """Says that functions of a module ask before they run; a module that is loaded late calls it itself."""
    asking_modules.append((module, which))
    if _somebody_listens:
        _wrap_functions_of(module, which)


def listen() -> None:
    """Says that there is somebody to ask: a subclass, a mode, or an object with __torch_function__."""
    global _somebody_listens
    if not _somebody_listens:
        _somebody_listens = True
        for module, which in asking_modules:
            _wrap_functions_of(module, which)
        _make_attributes_ask()


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

    def __init__(self, function: types.FunctionType, public: Any, given_as_called: bool) -> None:
        self.function = function if public is None else public  # what those who are asked are given
        self.as_called = given_as_called or public is not None or function.__name__ in _GIVEN_AS_CALLED
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
        if self.as_called:
            return args, kwargs
        import inspect  # slow to load, and few programs come here

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


def _make_asking(function: types.FunctionType, public: Any = None, given_as_called: bool = False) -> None:
    """The same function, asking: whoever holds it, or has it as a key, sees no change."""

    def asking(*args: Any, __asking: Any, **kwargs: Any) -> Any:
        return __asking(args, kwargs)

    how = _Asking(function, public, given_as_called)
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
        self.off = False  # inside DisableTorchFunction


_modes = _Modes()


def _count_modes() -> None:
    _C._set_function_modes(0 if _modes.off else len(_modes.stack))


def _switch_modes(off: bool) -> bool:
    """Whether modes are asked; returns what was so before."""
    before, _modes.off = _modes.off, off
    _count_modes()
    return before


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

    def __enter__(self) -> Self:
        _push_mode(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _pop_mode()

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


def _push_mode(mode: TorchFunctionMode) -> None:
    listen()
    _modes.stack.append(mode)
    _count_modes()


def _pop_mode() -> TorchFunctionMode:
    mode = _modes.stack.pop()
    _count_modes()
    return mode


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[TorchFunctionMode]:
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


def _get_current_function_mode() -> TorchFunctionMode | None:
    """The innermost mode of this thread."""
    return _modes.stack[-1] if _modes.stack else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """The modes of this thread, the outermost first."""
    return list(_modes.stack)


def _ask_mode(
    func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    with _pop_mode_temporarily() as mode:
        handler = mode.__torch_function__
        if getattr(handler, "__self__", mode) is not mode:
            raise RuntimeError(
                f"TorchFunctionMode's torch_function function should be a normal method not a class method: "
                f"{type(mode).__name__}.__torch_function__ defined as a classmethod is not supported, please make "
                "it a plain method"
            )
        return handler(func, types, args, kwargs)


class _EnableTorchFunction:
    """Asks again inside DisableTorchFunction: from here until it is deleted or left."""

    def __init__(self) -> None:
        self._before: tuple[bool, bool] | None = (_C._set_overrides_enabled(True), _switch_modes(off=False))

    def _end(self) -> None:
        if self._before is not None:
            enabled, off = self._before
            self._before = None
            _C._set_overrides_enabled(enabled)
            _switch_modes(off)

    __del__ = _end


@contextlib.contextmanager
def _enable_torch_function() -> Iterator[None]:
    enabled = _EnableTorchFunction()
    try:
        yield
    finally:
        enabled._end()


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Inside a ``__torch_dispatch__``, operators record history again, as they do where they are called."""
    before = _C.is_grad_enabled()
    _C._set_grad_enabled(True)
    try:
        yield
    finally:
        _C._set_grad_enabled(before)


# ---- what there is to override -------------------------------------------------------------------


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that never ask."""
    listen()
    return set(_overridable.ignored())


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that ask, by the module or class they are in; a property is its own key."""
    listen()
    return {space: list(functions) for space, functions in _overridable.by_namespace().items()}


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that asks, one of its signature that returns -1."""
    listen()
    return dict(_overridable.dummies())


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensor, or reads or writes one of its properties."""
    listen()
    return func in _overridable.of_tensor()


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The public name of a function that asks: ``'torch.Tensor.add'``."""
    listen()
    with DisableTorchFunction():  # modules that are loaded for the table call functions that ask
        return _overridable.names().get(f)


setattr(Tensor, "__torch_function__", classmethod(_default_torch_function))  # noqa: B010 - it becomes a method
setattr(Tensor, "__init_subclass__", classmethod(_init_subclass))  # noqa: B010
_C.DisableTorchFunction = DisableTorchFunction
_C.DisableTorchFunctionSubclass = DisableTorchFunctionSubclass
_C._EnableTorchFunction = _EnableTorchFunction
_C._is_torch_function_enabled = _C._overrides_enabled
_C._is_torch_function_all_disabled = lambda: _modes.off
_C._is_torch_function_mode_enabled = lambda: bool(_modes.stack) and not _modes.off
_C._len_torch_function_stack = lambda: len(_modes.stack)
_C._get_function_stack_at = lambda index: _modes.stack[index]
_C._push_on_torch_function_stack = _push_mode
_C._pop_torch_function_stack = _pop_mode
_C._set_mode_handler(_ask_mode)


__getattr__ = names_of(__name__)
