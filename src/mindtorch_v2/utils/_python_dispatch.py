"""``torch.utils._python_dispatch``: modes that see every operator, and what is asked about subclasses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What a wrapper's ``__torch_dispatch__`` should return: where the schema says that an argument is returned, that
    very argument."""
    schema = func._schema
    written = [a.name for a in schema.arguments if a.mutated]
    if not written:
        return out
    given = dict(zip([a.name for a in schema.arguments if not a.keyword_only], args, strict=False)) | dict(
        kwargs or {}
    )
    returned = [given[name] for name in written if name in given]
    if len(returned) == 1:
        return returned[0]
    return type(out)(returned) if isinstance(out, (tuple, list)) and len(out) == len(returned) else out


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes that see every operator, the innermost last."""
    return list(interception.stack())


def _get_current_dispatch_mode() -> Any:
    """The innermost of them."""
    modes = interception.stack()
    return modes[-1] if modes else None


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether there is one."""
    return bool(interception.stack())


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    return bool(interception.stack())


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    with interception.without() as modes:
        yield modes[0]


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    with interception.without(len(interception.stack())) as modes:
        yield modes


__getattr__ = names_of(__name__)
