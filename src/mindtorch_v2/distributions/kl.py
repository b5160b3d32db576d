"""How far one distribution is from another: the Kullback-Leibler divergence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .distribution import Distribution

__all__ = ["register_kl", "kl_divergence"]

_Formula = Callable[[Any, Any], Any]

_KL_REGISTRY: dict[tuple[type, type], _Formula] = {}
_KL_MEMOIZE: dict[tuple[type, type], _Formula | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[_Formula], _Formula]:
    """A decorator: the function computes the divergence of these two kinds and those derived from them."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # any class: a library's distributions may have another root
            raise TypeError(f"Expected {name} to be a class of distributions but got {kind}")

    def register(function: _Formula) -> _Formula:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _dispatch_kl(type_p: type, type_q: type) -> _Formula | None:
    """The formula of the closest pair of ancestors; both must be closest, or there is a warning."""
    found = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not found:
        return None

    def distance(pair: tuple[type, type]) -> tuple[int, int]:
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    closest_p = min(found, key=distance)
    closest_q = min(found, key=lambda pair: distance(pair)[::-1])
    if _KL_REGISTRY[closest_p] is not _KL_REGISTRY[closest_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl("
            f"{closest_p[0].__name__}, {closest_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[closest_p]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The expectation under ``p`` of log p - log q."""
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    formula = _KL_MEMOIZE[pair]
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return formula(p, q)
