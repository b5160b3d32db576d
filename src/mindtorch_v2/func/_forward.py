"""Derivatives in forward mode: tensors that carry the direction they move in.

Each use is a level of its own (Note [Transformations] in csrc/core/transform.h), so that they nest with each other,
with ``vmap`` and with gradients in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import mindtorch_v2 as torch

from .. import _C
from .._C import Tensor
from ..utils._pytree import TreeSpec, tree_flatten
from ._derivatives import jacrev, positions_of, split_aux
from ._vmap import vmap


@contextmanager
def _level() -> Iterator[int]:
    level = _C._forward.enter_level()
    before = _C._set_fwd_grad_enabled(True)
    try:
        yield level
    finally:
        _C._set_fwd_grad_enabled(before)
        _C._forward.exit_level(level)


def _flat(value: Any, name: str) -> tuple[list[Tensor], TreeSpec]:
    leaves, spec = tree_flatten(value)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected {name} to only contain Tensors, got {type(leaf)}"
            )
    if not leaves:
        raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to contain at least one Tensor.")
    return leaves, spec


def _dual(primal: Tensor, tangent: Tensor, level: int) -> Tensor:
    for name, given in (("primal", primal), ("tangent", tangent)):
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {given.dtype}")
    return _C._forward.make_dual(primal, tangent, level)


def jvp(
    func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False,
    has_aux: bool = False,
) -> Any:  # fmt: skip
    """The result of ``func``, and its Jacobian times a vector."""
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    leaves, spec = _flat(primals, "primals")
    directions, direction_spec = _flat(tangents, "tangents")
    if spec != direction_spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{spec} and tangents with structure {direction_spec}"
        )
    with _level() as level:
        duals = [_dual(x, t, level) for x, t in zip(leaves, directions, strict=True)]
        output, aux = split_aux(func(*spec.unflatten(duals)), has_aux, "jvp(f, primals, tangents)")
        outputs, output_spec = tree_flatten(output)
        moved = [_direction(y, level, strict) for y in outputs]
    # What the level gave them has gone with it.
    derivative = output_spec.unflatten(moved)
    return (output, derivative, aux) if has_aux else (output, derivative)


def _direction(output: Any, level: int, strict: bool) -> Tensor:
    if not isinstance(output, Tensor):
        raise RuntimeError(
            "jvp(f, primals, tangents): expected f(*primals) to return only tensors, got unsupported type "
            f"{type(output)}"
        )
    tangent = _C._forward.tangent(output, level)
    if tangent is None and strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
            "allowed with strict=True."
        )
    return torch.zeros_like(output) if tangent is None else tangent


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The result of ``func``, and the function that multiplies its Jacobian there with a vector."""
    value = func(*primals)
    leaves, spec = tree_flatten(primals)

    def multiply(*tangents: Any) -> Any:
        directions, direction_spec = tree_flatten(tangents)
        if direction_spec != spec:
            raise RuntimeError(
                f"Expected the tangents {direction_spec} to have the same argspec as the primals {spec}"
            )
        for i, (direction, leaf) in enumerate(zip(directions, leaves, strict=True)):
            for what in ("shape", "device", "dtype"):
                if getattr(direction, what) != getattr(leaf, what):
                    raise RuntimeError(
                        f"tangent:{i} with {what} {getattr(direction, what)} in flattened pytree doesn't match the "
                        f"{what} {getattr(leaf, what)} of the corresponding primal."
                    )
        return jvp(func, primals, tangents)[1]

    return value, multiply


def _basis(leaves: list[Tensor]) -> list[Tensor]:
    """One direction for each element of the leaves, along the first dimension of what each leaf gets."""
    counts = [leaf.numel() for leaf in leaves]
    total = sum(counts)
    found, before = [], 0
    for leaf, count in zip(leaves, counts, strict=True):
        block = torch.zeros(total, count, dtype=leaf.dtype, device=leaf.device)
        block.narrow(0, before, count).fill_diagonal_(1)
        found.append(block.view(total, *leaf.shape))
        before += count
    return found


def _refuse_complex(tensors: list[Any], what: str) -> None:
    for i, tensor in enumerate(tensors):
        if tensor.is_complex():
            raise RuntimeError(
                f"jacfwd: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
            )


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that returns the Jacobian of ``func``, a column per element of the arguments."""

    @wraps(func)
    def jacobian(*args: Any) -> Any:
        positions = positions_of(argnums, len(args))
        chosen = args[positions[0]] if isinstance(argnums, int) else tuple(args[p] for p in positions)
        leaves, spec = tree_flatten(chosen)
        basis = _basis(leaves)
        _refuse_complex(leaves, "inputs")
        seen: list[Any] = []  # the nesting of the results, and aux: the same for all columns

        def of_chosen(*flat: Tensor) -> Any:
            given = list(args)
            parts = spec.unflatten(list(flat))
            for position, part in zip(
                positions, (parts,) if isinstance(argnums, int) else parts, strict=True
            ):
                given[position] = part
            return func(*given)

        def column(*directions: Tensor) -> tuple[Tensor, ...]:
            _, moved, *aux = jvp(of_chosen, tuple(leaves), directions, has_aux=has_aux)
            flat, output_spec = tree_flatten(moved)
            seen[:] = [output_spec, *aux]
            return tuple(flat)

        if basis[0].size(0):
            columns = vmap(column, randomness=randomness)(*basis)
        else:
            columns = tuple(t.new_zeros(0, *t.shape) for t in column(*leaves))
        _refuse_complex(list(columns), "outputs")
        found = seen[0].unflatten([spec.unflatten(_blocks(c, leaves)) for c in columns])
        return (found, seen[1]) if has_aux else found

    return jacobian


def _blocks(columns: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    """The columns of one result, put together for each argument."""
    shape = columns.shape[1:]
    parts = columns.movedim(0, -1).split([leaf.numel() for leaf in leaves], dim=-1)
    return [part.reshape(shape + leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that returns the matrix of second derivatives of ``func``: forward over backward."""
    return jacfwd(jacrev(func, argnums), argnums)
