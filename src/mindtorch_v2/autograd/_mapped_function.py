"""``torch.autograd.Function`` inside vmap: its ``vmap`` method, or the rule that ``generate_vmap_rule`` asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import _C
from .._C import Tensor

_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What a ``vmap`` method is told."""

    batch_size: int
    randomness: str


def batch_level(values: Iterable[Any]) -> int:
    """The innermost vmap that one of the values belongs to; -1 if there is none."""
    if not _C._are_functorch_transforms_active():
        return -1
    return max((_C._functorch.maybe_get_level(a) for a in values if isinstance(a, Tensor)), default=-1)


def by_rule(rule: Any, level: int, dims: tuple[Any, ...], values: list[Any], keywords: dict[str, Any]) -> Any:
    """What a program's own rule gives, which is told of the batch and where it lies in each value."""
    made = rule(VmapInfo(*_C._functorch._mapped(level)), dims, *values, **keywords)
    if not (isinstance(made, tuple) and len(made) == 2):
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got a {type(made)} instead"
        )
    return wrapped(*made, level)


def forward_of_batches(function: Any, base: Any, level: int, args: tuple[Any, ...]) -> Any:
    """What ``forward`` gives for tensors of this level. It is computed one level down, where outer graphs are recorded
    by the operators of ``vmap``, or by the function's own backward. ``base`` is ``Function``."""
    name = function.__name__
    if function.setup_context is base.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod. {_MORE}"
        )
    own_rule = function.vmap is not base.vmap
    if function.generate_vmap_rule and own_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. {_MORE}"
        )
    below = [_C._functorch._unwrap_batched(a, level) if isinstance(a, Tensor) else (a, None) for a in args]
    values, dims = [value for value, _ in below], tuple(dim for _, dim in below)
    if all(dim is None for dim in dims):
        return wrapped(function.apply(*values), None, level)
    if not (function.generate_vmap_rule or own_rule):
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the "
            f"vmap staticmethod or set generate_vmap_rule=True. {_MORE}"
        )
    if own_rule:
        return by_rule(function.vmap, level, dims, values, {})
    size, randomness = _C._functorch._mapped(level)
    return wrapped(_mapped(function, base, dims, size, randomness).apply(*values), 0, level)


def wrapped(output: Any, dims: Any, level: int) -> Any:
    """Outputs from below as tensors of this level; one dimension may stand for all."""
    from ..utils._pytree import tree_flatten

    leaves, spec = tree_flatten(output)
    places = [dims] * len(leaves) if dims is None or isinstance(dims, int) else tree_flatten(dims)[0]
    if len(places) != len(leaves):
        raise RuntimeError(
            f"vmap staticmethod: {len(leaves)} outputs, but out_dims {dims} speaks of {len(places)}"
        )
    return spec.unflatten([_inside(x, d, level) for x, d in zip(leaves, places, strict=True)])


def _inside(value: Any, dim: int | None, level: int) -> Any:
    if not isinstance(value, Tensor):
        return value
    if dim is None:
        return _C._functorch._at_this_level(value)
    return _C._functorch._add_batch_dim(value, dim, level)


@contextmanager
def _new_level(size: int, randomness: str) -> Iterator[int]:
    level = _C._functorch._vmap_increment_nesting(size, randomness)
    try:
        yield level
    finally:
        _C._functorch._vmap_decrement_nesting()


def _mapped(function: Any, base: Any, dims: tuple[int | None, ...], size: int, randomness: str) -> Any:
    """The function over batches, as a function of its own: backward is mapped as forward is."""

    def outside(value: Any, level: int) -> Any:
        return _C._functorch._remove_batch_dim(value, level, size, 0) if isinstance(value, Tensor) else value

    class Mapped(base):  # type: ignore[misc]
        generate_vmap_rule = True

        @staticmethod
        def forward(*args: Any) -> Any:
            from ..utils._pytree import tree_flatten

            with _new_level(size, randomness) as level:
                made = function.forward(*(_inside(a, d, level) for a, d in zip(args, dims, strict=True)))
                leaves, spec = tree_flatten(made)
                return spec.unflatten([outside(x, level) for x in leaves])

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.outputs = output if isinstance(output, tuple) else (output,)
            ctx.several = isinstance(output, tuple)
            ctx.constants = [None if isinstance(a, Tensor) else a for a in inputs]
            ctx.save_for_backward(*(a if isinstance(a, Tensor) else None for a in inputs), *ctx.outputs)
            ctx.count, ctx.outputs = len(inputs), None

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            saved = ctx.saved_tensors
            given = [c if s is None else s for c, s in zip(ctx.constants, saved[: ctx.count], strict=True)]
            with _new_level(size, randomness) as level:
                inputs = tuple(_inside(a, d, level) for a, d in zip(given, dims, strict=True))
                outputs = tuple(_inside(y, 0, level) for y in saved[ctx.count :])
                inner = function._backward_cls()
                inner.needs_input_grad = ctx.needs_input_grad
                function.setup_context(inner, inputs, outputs if ctx.several else outputs[0])
                made = inner._run_backward(*(None if g is None else _inside(g, 0, level) for g in grads))
                found = made if isinstance(made, tuple) else (made,)
                return tuple(_gradient(g, d, level) for g, d in zip(found, dims, strict=True))

    def _gradient(value: Any, dim: int | None, level: int) -> Any:
        """Of an input that all slices share, the sum."""
        if value is None:
            return None
        made = outside(value, level)
        return made.sum(0) if dim is None else made

    Mapped.__name__ = f"Vmapped{function.__name__}"
    Mapped._backward_cls.__name__ = f"{Mapped.__name__}Backward"
    return Mapped
