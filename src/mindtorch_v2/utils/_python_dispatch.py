"""``torch.utils._python_dispatch``: modes that see every operator, and what is asked about subclasses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Self

from .._absent import names_of
from .._C import Tensor
from .._library import interception


class TorchDispatchMode:
    """While it is on (a context manager), operators of this thread go to its ``__torch_dispatch__``.

    The mode is off inside its own ``__torch_dispatch__``, so that it may call the operator it was given.
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        if _dispatch_key is not None:
            raise NotImplementedError("TorchDispatchMode(_dispatch_key): there are no dispatch keys here")

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__")

    def __enter__(self) -> Self:
        interception.push(self)
        return self

    def __exit__(self, *exception: object) -> None:
        interception.pop()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """A new mode, to be entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it is part of a tracer or the like, which other modes should not notice."""
        return False

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return False


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether tensors of a class are made of other tensors, which it takes apart and puts together."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor is of such a class."""
    return is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any, callback: Callable[[str, Tensor], Tensor], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A tensor of the same class over what the callback makes of each of its inner tensors."""
    names, context = t.__tensor_flatten__()
    made = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    result = type(t).__tensor_unflatten__(made, context, size, stride)
    if tuple(result.size()) != tuple(size) or tuple(result.stride()) != tuple(stride):
        raise AssertionError(
            f"{type(t).__name__}.__tensor_unflatten__ gave a tensor of size {tuple(result.size())} and strides "
            f"{tuple(result.stride())}, wanted {tuple(size)} and {tuple(stride)}"
        )
    return result


@dataclass
class AliasInfo:
    """Which memory an argument or a result shares, and whether it is written."""

    alias_set: set[str]
    is_write: bool
    name: str | None


@dataclass
class SchemaInfo:
    """The same for all arguments and results of an operator."""

    args: list[AliasInfo]
    outs: list[AliasInfo]


def get_alias_info(func: Any) -> SchemaInfo:
    """What an operator's schema says of shared memory."""

    def info(argument: Any, name: str | None) -> AliasInfo:
        return AliasInfo({argument.alias} if argument.alias else set(), argument.mutated, name)

    schema = func._schema
    return SchemaInfo([info(a, a.name) for a in schema.arguments], [info(r, None) for r in schema.returns])


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What a wrapper's ``__torch_dispatch__`` should return: where the schema says that an argument is returned, that
    very argument."""
    info = get_alias_info(func)
    positional = [a.name for a in func._schema.arguments if not a.keyword_only]
    given = dict(zip(positional, args, strict=False)) | dict(kwargs or {})
    written = {
        name: given[arg.name]
        for arg in info.args
        if arg.is_write
        for name in arg.alias_set
        if arg.name in given
    }

    def returned(result: AliasInfo, value: Any) -> Any:
        return next((written[name] for name in result.alias_set if name in written), value)

    if not written or out is None:
        return out
    if len(info.outs) == 1:
        return returned(info.outs[0], out)
    return type(out)(map(returned, info.outs, out))


# ---- the modes of the thread -------------------------------------------------------------------------


def _push_mode(mode: TorchDispatchMode) -> None:
    interception.push(mode)


def _pop_mode(k: Any = None) -> Any:
    """The innermost mode, which is over; with a kind of infrastructure ("FAKE", "PROXY"), that one."""
    if k is None:
        return interception.pop()
    mode = _detect_infra_mode(k)
    if mode is not None:
        interception.remove(mode)
    return mode


def _len_torch_dispatch_stack() -> int:
    return len(interception.stack())


def _get_dispatch_stack_at(i: int) -> Any:
    return interception.stack()[i]


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes that see every operator, the innermost last."""
    return list(interception.stack())


def _get_current_dispatch_mode() -> Any:
    """The innermost of them."""
    modes = interception.stack()
    return modes[-1] if modes else None


def any_torch_dispatch_mode_on_stack(*, include_infra_modes: bool = True) -> bool:
    """Whether there is one; without those that are infrastructure, if they do not count."""
    return any(include_infra_modes or not mode.is_infra_mode() for mode in interception.stack())


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether there is one; without those that are infrastructure, if they do not count."""
    return any_torch_dispatch_mode_on_stack(include_infra_modes=include_infra_modes)


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    return any(not mode.ignore_compile_internals() for mode in interception.stack())


def _kind_of_infra(key: Any) -> str:
    """Fake tensors or tracing: PyTorch's keys are called so, and so are words."""
    return str(getattr(key, "name", key)).rpartition(".")[2].upper()


def _detect_infra_mode(key: Any) -> Any:
    """The mode of fake tensors ("FAKE") or the tracing one ("PROXY") that is on; None if it is not."""
    kind = _kind_of_infra(key)
    return next((m for m in reversed(interception.stack()) if getattr(m, "_infra_kind", None) == kind), None)


@contextmanager
def _disable_infra_mode(key: Any) -> Iterator[Any]:
    """Inside, that mode is off."""
    mode = _detect_infra_mode(key)
    with nullcontext() if mode is None else interception.without_mode(mode):
        yield mode


def _unset_infra_mode(key: Any) -> Any:
    """That mode, which is over."""
    return _pop_mode(key)


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    if k is not None:
        with _disable_infra_mode(k) as mode:
            yield mode
        return
    with interception.without() as modes:
        yield modes[0]


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    with interception.without(len(interception.stack())) as modes:
        yield modes


class BaseTorchDispatchMode(TorchDispatchMode):
    """Runs operators as they are."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


__getattr__ = names_of(__name__)
