"""``vmap``: a function over slices, mapped over a dimension.

The function runs once, with tensors that stand for all slices (Note [Batches] in csrc/transforms/batch.h).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import mindtorch_v2 as torch

from .. import _C
from .._C import Tensor
from .._devices import registry
from ..utils._pytree import TreeSpec, tree_flatten, tree_map


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", repr(func))


def _is_tensor_like(value: Any) -> bool:
    """A tensor, or an object of a library that has dimensions and answers torch's functions as a tensor does."""
    kind = type(value)
    return isinstance(value, Tensor) or (hasattr(kind, "__torch_function__") and hasattr(kind, "dim"))


def _spread(spec: TreeSpec, dims: Any, found: list[Any]) -> bool:
    """One entry of ``dims`` per leaf; a number or None stands for everything inside it. False if they do not fit."""
    if dims is None or isinstance(dims, int):
        found += [dims] * spec.num_leaves
        return True
    if spec.is_leaf():
        return False
    if isinstance(dims, dict):
        if spec.type is not dict or list(dims) != list(spec.context):
            return False
        inside: Any = list(dims.values())
    elif isinstance(dims, (list, tuple)):
        inside = dims
    else:
        return False
    children = spec.children_specs
    return len(inside) == len(children) and all(
        _spread(c, d, found) for c, d in zip(children, inside, strict=True)
    )


def _input_dims(
    func: Callable[..., Any], in_dims: Any, args: tuple[Any, ...]
) -> tuple[list[Any], list[Any], TreeSpec]:
    """The leaves of the arguments, the dimension of each (None: not mapped), and the nesting."""
    lead = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            f"{lead}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
            "over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args, _is_tensor_like)
    dims: list[Any] = []
    if not _spread(spec, tuple(in_dims) if isinstance(in_dims, list) else in_dims, dims):
        raise ValueError(
            f"{lead}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    for place, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{lead}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not _is_tensor_like(leaf):
            raise ValueError(
                f"{lead}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                f"{lead}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} so "
                f"expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
        dims[place] = dim % leaf.dim()
    return leaves, dims, spec


def _batch_size(leaves: list[Any], dims: list[Any]) -> int:
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return int(sizes[0])


def check_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )


@contextmanager
def level(size: int, randomness: str) -> Iterator[int]:
    """Inside it tensors may stand for batches; gives the level's number."""
    check_randomness(randomness)
    number = _C._functorch._vmap_increment_nesting(size, randomness)
    try:
        yield number
    finally:
        _C._functorch._vmap_decrement_nesting()


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that calls ``func`` with tensors that stand for all slices along ``in_dims``; the slices of its
    results lie along ``out_dims``. With ``chunk_size`` it does so for that many slices at a time."""
    check_randomness(randomness)
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, spec = _input_dims(func, in_dims, args)
        size = _batch_size(leaves, dims)

        def once(parts: list[Any], count: int) -> tuple[list[Any], TreeSpec, list[Any]]:
            with level(count, randomness) as number:
                inside = [
                    _anew(x) if d is None else _inside(x, d, number) for x, d in zip(parts, dims, strict=True)
                ]
                results, found = tree_flatten(func(*spec.unflatten(inside), **kwargs), _is_tensor_like)
                out = _output_dims(func, found, out_dims)
                return (
                    [_outside(func, x, d, number, count) for x, d in zip(results, out, strict=True)],
                    found,
                    out,
                )

        if not all(d is None or _takes_batches(x) for x, d in zip(leaves, dims, strict=True)):
            return _by_slices(func, leaves, dims, spec, kwargs, size, out_dims)
        if chunk_size is None or size <= chunk_size:
            results, found, _ = once(leaves, size)
            return found.unflatten(results)
        before = _generator_states() if randomness == "same" else {}
        chunks = []
        for start in range(0, size, chunk_size):
            _restore(before)
            count = min(chunk_size, size - start)
            chunks.append(
                once(
                    [
                        x if d is None else x.narrow(d, start, count)
                        for x, d in zip(leaves, dims, strict=True)
                    ],
                    count,
                )
            )
        _, found, out = chunks[0]
        columns = zip(*(results for results, _, _ in chunks), strict=True)
        return found.unflatten(
            [column[0] if d is None else torch.cat(column, d) for column, d in zip(columns, out, strict=True)]
        )

    return mapped


def _takes_batches(value: Any) -> bool:
    """Tensors, and containers that know how to hold batches, as a TensorDict does."""
    return isinstance(value, Tensor) or hasattr(value, "_add_batch_dim")


def _inside(value: Any, dim: int, number: int) -> Any:
    if isinstance(value, Tensor):
        return _C._functorch._add_batch_dim(value, dim, number)
    return value._add_batch_dim(in_dim=dim, vmap_level=number)


def _anew(leaf: Any) -> Any:
    """What all slices share: a container is a new one, so that the caller's is not written."""
    return leaf if isinstance(leaf, Tensor) else tree_map(lambda inside: inside, leaf)


def _output_dims(func: Callable[..., Any], spec: TreeSpec, out_dims: Any) -> list[Any]:
    """One dimension for each leaf of the results."""
    given = tuple(out_dims) if isinstance(out_dims, list) else out_dims
    if isinstance(given, tuple) and len(given) == 1 and spec.is_leaf():
        given = given[0]
    dims: list[Any] = []
    if not _spread(spec, given, dims):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {tree_flatten(given)[1]} but outputs has structure {spec}."
        )
    return dims


def _outside(func: Callable[..., Any], value: Any, dim: Any, number: int, size: int) -> Any:
    """A result as the caller sees it."""
    if dim is None:
        if isinstance(value, Tensor) and _C._functorch.maybe_get_bdim(value) == 0:
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None"
            )
        return value
    if not isinstance(value, Tensor) and hasattr(value, "_remove_batch_dim"):
        return value._remove_batch_dim(number, size, dim)
    if not isinstance(value, Tensor):
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(value)}. Did you "
            "mean to set out_dims= to None for output?"
        )
    return _C._functorch._remove_batch_dim(value, number, size, dim)


def _by_slices(
    func: Callable[..., Any], leaves: list[Any], dims: list[Any], spec: TreeSpec, kwargs: dict[str, Any], size: int,
    out_dims: Any,
) -> Any:  # fmt: skip
    """For containers that answer ``torch.unbind`` and ``torch.stack`` themselves: one call for each slice."""
    columns = [
        [_anew(x) for _ in range(size)] if d is None else torch.unbind(x, d)
        for x, d in zip(leaves, dims, strict=True)
    ]
    if not size:
        raise ValueError(
            "vmap: the mapped dimension has size 0, so there is no slice to call the function with"
        )
    made = [
        tree_flatten(func(*spec.unflatten(row), **kwargs), _is_tensor_like)
        for row in zip(*columns, strict=True)
    ]
    found = made[0][1]
    out = _output_dims(func, found, out_dims)
    rows = zip(*(results for results, _ in made), strict=True)
    return found.unflatten(
        [row[0] if d is None else torch.stack(row, d) for row, d in zip(rows, out, strict=True)]
    )


def _generator_states() -> dict[str, list[Tensor]]:
    """Of the CPU, and of all devices of a kind once one is in use."""
    used = [found for found in registry.accelerators.values() if found.module.is_initialized()]
    return {
        "cpu": [torch.get_rng_state()],
        **{found.type: found.module.get_rng_state_all() for found in used},
    }


def _restore(states: dict[str, list[Tensor]]) -> None:
    for kind, found in states.items():
        if kind == "cpu":
            torch.set_rng_state(found[0])
        else:
            registry.accelerators[kind].module.set_rng_state_all(found)
