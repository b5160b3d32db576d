"""Lists and dicts that nodes hold their arguments in: changing one in place would leave the users of nodes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from ..utils._pytree import (
    _dict_flatten,
    _dict_flatten_with_keys,
    _list_flatten,
    _list_flatten_with_keys,
    register_pytree_node,
)
from ._compatibility import compatibility

__all__ = ["immutable_dict", "immutable_list"]

_T = TypeVar("_T")

_ADVICE = """If you are attempting to modify the kwargs or args of a torch.fx.Node object,
instead create a new copy of it and assign the copy to the node:

    new_args = ...  # copy and mutate args
    node.args = new_args"""


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__!r} object does not support mutation. {_ADVICE}")

    refuse.__name__ = name
    return refuse


def _frozen(*names: str) -> Callable[[type[_T]], type[_T]]:
    """A decorator for a class whose methods of these names refuse."""

    def decorate(cls: type[_T]) -> type[_T]:
        for name in names:
            setattr(cls, name, _refusing(name))
        return cls

    return decorate


@compatibility(is_backward_compatible=True)
@_frozen("__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert", "pop",
         "remove", "reverse", "sort")  # fmt: skip
class immutable_list(list[Any]):
    """A list that cannot be changed, and has a hash if what it holds has."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[type, tuple[tuple[Any, ...]]]:
        return immutable_list, (tuple(self),)


@compatibility(is_backward_compatible=True)
@_frozen("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update")
class immutable_dict(dict[Any, Any]):
    """A dict that cannot be changed, and has a hash if what it holds has."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type, tuple[tuple[tuple[Any, Any], ...]]]:
        return immutable_dict, (tuple(self.items()),)


def _immutable_list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    return immutable_list(values)


def _immutable_dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    return immutable_dict(zip(context, values, strict=True))


register_pytree_node(
    immutable_list,
    _list_flatten,
    _immutable_list_unflatten,
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=_list_flatten_with_keys,
)
register_pytree_node(
    immutable_dict,
    _dict_flatten,
    _immutable_dict_unflatten,
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=_dict_flatten_with_keys,
)
