# Operators that Python takes over, or calls by name.
from collections.abc import Sequence
from typing import Any, TypeVar

_T = TypeVar("_T")

def set_modes(count: int) -> int: ...
def set_off(off: bool) -> bool: ...
def operators() -> list[tuple[str, str, str]]: ...  # name, overload, schema
def call(name: str, overload: str, arguments: Sequence[Any]) -> Any: ...
def wrapper(
    cls: type[_T],
    size: Sequence[int],
    strides: Sequence[int] | None,
    offset: int,
    dtype: Any,
    device: Any,
    requires_grad: bool,
) -> _T: ...
