"""Parameters in a list or by name; other values may stand among them."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import mindtorch_v2 as torch

from ..parameter import Parameter
from .module import Module, type_name

__all__ = ["ParameterDict", "ParameterList"]


def _as_parameter(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _entry_text(name: object, value: Any, kind: str) -> str:
    """The line of one entry; ``kind`` is how its container names the type of a tensor."""
    if not isinstance(value, torch.Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.size())
    place = "" if value.device.type in ("cpu", "meta") else f" ({value.device})"
    return f"  ({name}): {what} containing: [{kind} of size {size}{place}]"


class _ParameterContainer(Module):
    def _entries(self) -> Iterator[tuple[object, Any]]:
        raise NotImplementedError

    def _kind(self, value: torch.Tensor) -> str:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return "\n".join(
            _entry_text(name, value, self._kind(value) if isinstance(value, torch.Tensor) else "")
            for name, value in self._entries()
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParameterList(_ParameterContainer):
    """A list whose tensors become parameters of the module that has it."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _get_abs_string_index(self, idx: Any) -> str:
        """The attribute that holds an entry."""
        index = operator.index(idx)
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(index % self._size)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            chosen = type(self)()
            for position in range(self._size)[idx]:
                chosen.append(self[position])
            return chosen
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        # Entries may be anything, so a value of another kind takes the place of a parameter.
        name = self._get_abs_string_index(idx)
        delattr(self, name)
        setattr(self, name, _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self._size)])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Self:
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        # A tensor is an iterable of its rows, which nobody means.
        if not isinstance(values, Iterable) or isinstance(values, torch.Tensor):
            raise TypeError(
                f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    def _entries(self) -> Iterator[tuple[object, Any]]:
        return enumerate(self)

    def _kind(self, value: torch.Tensor) -> str:
        return str(value.dtype)


class ParameterDict(_ParameterContainer):
    """A dictionary whose tensors become parameters of the module that has it."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        name = self._key_to_attr(key)
        if name in self._keys:
            delattr(self, name)
        setattr(self, name, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A new dictionary of the same parameters."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        key, _ = self._keys.popitem()
        self._keys[key] = None  # pop() takes it out of both tables
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """From a mapping or from an iterable of pairs. A mapping without an order of its own goes in sorted."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(parameters).__name__}"
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs: Iterable[Any] = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items(), key=lambda pair: pair[0])
        else:
            pairs = parameters
        for position, pair in enumerate(pairs):
            if not isinstance(pair, Iterable):
                raise TypeError(
                    f"ParameterDict update sequence element #{position} should be Iterable; is"
                    f"{type(pair).__name__}"
                )
            entry = list(pair)
            if len(entry) != 2:
                raise ValueError(
                    f"ParameterDict update sequence element #{position} has length {len(entry)}; 2 is required"
                )
            self[entry[0]] = entry[1]

    def __or__(self, other: Any) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> Any:
        joined = other.copy()
        joined.update(self.items())
        return joined

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def _entries(self) -> Iterator[tuple[object, Any]]:
        return iter(self.items())

    def _kind(self, value: torch.Tensor) -> str:
        return type_name(value)
