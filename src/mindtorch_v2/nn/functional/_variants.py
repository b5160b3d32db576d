"""Functions that differ in a number of dimensions or in a kernel, written once."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def variant(function: Function, name: str, **settled: Any) -> Function:
    """``function`` under another name, with its keyword-only parameters settled and out of its signature.

    It is a copy, not a wrapper: a call costs what it would if the function were written out, and errors name it.
    """
    original: Any = function
    code = original.__code__.replace(co_name=name, co_qualname=name)
    made = types.FunctionType(code, original.__globals__, name, original.__defaults__, original.__closure__)
    assert settled.keys() == original.__kwdefaults__.keys()
    made.__kwdefaults__ = settled
    made.__annotations__ = {key: kind for key, kind in function.__annotations__.items() if key not in settled}
    made.__doc__ = function.__doc__
    # What inspect.signature reads, and nobody calls: making Signatures here would load inspect with the package.
    described = types.FunctionType(
        code.replace(co_kwonlyargcount=0),
        original.__globals__,
        name,
        original.__defaults__,
        original.__closure__,
    )
    described.__annotations__ = made.__annotations__
    made.__wrapped__ = described  # type: ignore[attr-defined]
    return made  # type: ignore[return-value]
