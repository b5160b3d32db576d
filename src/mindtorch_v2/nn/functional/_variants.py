"""Functions that differ in a number of dimensions or in a kernel, written once."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def variant(function: Function, name: str, **settled: Any) -> Function:
    """``function`` under another name, with some of its keyword-only parameters settled and out of its signature.

    It is a copy, not a wrapper: a call costs what it would if the function were written out, and errors name it.
    """
    original: Any = function
    code = original.__code__.replace(co_name=name, co_qualname=name)
    made = types.FunctionType(code, original.__globals__, name, original.__defaults__, original.__closure__)
    made.__kwdefaults__ = {**original.__kwdefaults__, **settled}
    made.__annotations__ = {key: kind for key, kind in function.__annotations__.items() if key not in settled}
    made.__doc__ = function.__doc__
    signature = inspect.signature(function)
    made.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[place for key, place in signature.parameters.items() if key not in settled]
    )
    return made  # type: ignore[return-value]
