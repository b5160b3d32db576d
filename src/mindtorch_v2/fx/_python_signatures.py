"""Operators that PyTorch wraps in Python: a graph has all their arguments, also those that a call left out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import mindtorch_v2 as torch


def _split(tensor: Any, split_size_or_sections: Any, dim: Any = 0) -> None: ...
def _unique(input: Any, sorted: Any = True, return_inverse: Any = False, return_counts: Any = False,
            dim: Any = None) -> None: ...  # fmt: skip
def _unique_consecutive(input: Any, return_inverse: Any = False, return_counts: Any = False,
                        dim: Any = None) -> None: ...  # fmt: skip
def _unravel_index(indices: Any, shape: Any) -> None: ...
def _pad(input: Any, pad: Any, mode: Any = "constant", value: Any = None) -> None: ...
def _stft(input: Any, n_fft: Any, hop_length: Any = None, win_length: Any = None, window: Any = None,
          center: Any = True, pad_mode: Any = "reflect", normalized: Any = False, onesided: Any = None,
          return_complex: Any = None, align_to_window: Any = None) -> None: ...  # fmt: skip


@cache
def _signatures() -> dict[Any, inspect.Signature]:
    functions: dict[Any, Any] = {
        torch.split: _split, torch.unique: _unique, torch.unique_consecutive: _unique_consecutive,
        torch.unravel_index: _unravel_index, torch.nn.functional.pad: _pad, torch.stft: _stft,
    }  # fmt: skip
    return {function: inspect.signature(said) for function, said in functions.items()}


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The parameters of a function: those it is written with, or those of PyTorch's; None if nobody says."""
    if (known := _signatures().get(function)) is not None:
        return known
    if not inspect.isfunction(function):
        return None
    return inspect.signature(inspect.unwrap(function))


def as_written_in_python(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, what has no default in order and the rest by name, if PyTorch does so."""
    if (signature := _signatures().get(function)) is None:
        return args, kwargs
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    required = [name for name, p in signature.parameters.items() if p.default is p.empty]
    given = dict(bound.arguments)
    return tuple(given.pop(name) for name in required), given
