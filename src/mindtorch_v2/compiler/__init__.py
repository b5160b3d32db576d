"""``torch.compile`` and ``torch.compiler``: what programs say to a compiler.

There is none: programs that ask for one run eagerly and are told so once, and marks are passed through.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._absent import names_of

_told = False


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A function itself, a module behind ``_orig_mod``: there is no compiler here. Warns once.

    With ``disable=True`` it does not warn, and puts nothing in front of modules.
    """
    global _told
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if not disable and not _told:
        _told = True
        warnings.warn(
            "torch.compile: this library has no compiler, so compiled functions and modules run eagerly.",
            stacklevel=2,
        )
    if model is None:
        return lambda function: compile(function, disable=disable)
    if not callable(model):
        raise RuntimeError(f"torch.compile: wanted a function or a module, got {type(model).__name__}")
    if disable:
        return model
    behind = getattr(type(model), "_behind_compiled", None)  # modules have it
    return model if behind is None else behind(model)


def is_compiling() -> bool:
    """Whether this code is being compiled: never."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether this code is being compiled: never."""
    return False


def is_exporting() -> bool:
    """Whether this code is being exported: never."""
    return False


def allow_in_graph(fn: Any) -> Any:
    """Marks a function as one to leave alone; returns it."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """Marks a function whose result never changes; returns it."""
    return fn


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Marks a function as one not to compile; returns it, or a decorator that does."""
    return fn if fn is not None else lambda function: function


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """Marks a function as compiled once for all its uses; returns it, or a decorator that does."""
    return fn if fn is not None else lambda function: function


def substitute_in_graph(
    original_fn: Callable[..., Any],
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Names a replacement for the compiler; returns a decorator that changes nothing."""
    return lambda function: function


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The compilers there are: none."""
    return []


def reset() -> None:
    """Forgets what was compiled: nothing."""


def cudagraph_mark_step_begin() -> None:
    """Marks the beginning of a step for CUDA graphs, which are not used."""


@contextmanager
def set_stance(
    stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
) -> Iterator[None]:
    """How eager the compiler is. Every stance runs eagerly here."""
    known = ("default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile",
             "fail_on_recompile")  # fmt: skip
    if stance not in known:
        raise RuntimeError(f"invalid torch.compile stance '{stance}'")
    yield


__getattr__ = names_of(__name__)
