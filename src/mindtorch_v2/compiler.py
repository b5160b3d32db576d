"""``torch.compiler``: what programs say to a compiler. There is none, so marks are passed through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._compile import compile as compile


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
