"""A batch cut into microbatches, and what came of them put together."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ... import _C
from ..._C import Tensor, _functions
from ...utils import _pytree

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class _CustomReducer:
    """Outputs of microbatches are combined by a function."""

    def __init__(self, init_value: Any, reduce_fn: Callable[[Any, Any], Any]) -> None:
        self.init_value, self.reduce_fn = init_value, reduce_fn


class _LossReducer(_CustomReducer):
    """The same, for losses."""


sum_reducer = _LossReducer(_C._functions.scalar_tensor(0.0), operator.add)


class TensorChunkSpec:
    """Along which dimension a tensor is cut."""

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        return f"torch.distributed.pipelining.microbatch.TensorChunkSpec({self.split_dim})"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> Any:
        """A specification for each positional argument."""
        return _pytree.tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> Any:
        """A specification for each keyword argument."""
        return _pytree.tree_map(TensorChunkSpec, chunk_dims)


class _Replicate:
    """Every microbatch gets the value itself."""


def _default_spec(value: Any) -> Any:
    return TensorChunkSpec(0) if isinstance(value, Tensor) else _Replicate()


def _flat_specs(value: Any, spec: Any) -> list[Any]:
    """The specification of each leaf of a value."""
    leaves, _ = _pytree.tree_flatten(value)
    if spec is None:
        return [_default_spec(leaf) for leaf in leaves]
    specs, _ = _pytree.tree_flatten(spec)
    if len(specs) != len(leaves):
        raise ValueError(
            f"argument value {value} did not have the same number of values as its chunk spec {spec}"
        )
    return specs


def _parts(leaf: Any, spec: Any, chunks: int) -> list[Any] | None:
    """The leaf in so many parts; None if it goes to every microbatch."""
    if isinstance(spec, TensorChunkSpec):
        if not isinstance(leaf, Tensor):
            raise AssertionError(f"{leaf} is not a tensor: it cannot be cut by {spec!s}")
        return list(leaf.tensor_split(chunks, spec.split_dim))
    if isinstance(spec, _Replicate):
        return None
    raise AssertionError(f"Expected TensorChunkSpec, got {type(spec)}")


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
    kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """The arguments of each microbatch: tensors are cut along their first dimension, or as a specification says.

    A tensor shorter than ``chunks`` gives fewer microbatches.
    """
    kwargs = {} if kwargs is None else kwargs
    if args_chunk_spec is not None and len(args_chunk_spec) != len(args):
        raise AssertionError(
            f"args_chunk_spec has {len(args_chunk_spec)} entries for {len(args)} positional arguments"
        )
    if kwargs_chunk_spec is not None and kwargs_chunk_spec.keys() != kwargs.keys():
        raise AssertionError(
            f"kwargs_chunk_spec is for {list(kwargs_chunk_spec)}, but the keyword arguments are {list(kwargs)}"
        )
    leaves, shape = _pytree.tree_flatten((args, kwargs))
    specs = _flat_specs(args, args_chunk_spec) + _flat_specs(kwargs, kwargs_chunk_spec)
    for leaf, spec in zip(leaves, specs, strict=True):
        if isinstance(leaf, Tensor) and isinstance(spec, TensorChunkSpec):
            chunks = min(chunks, leaf.size(spec.split_dim))
    parts = [_parts(leaf, spec, chunks) for leaf, spec in zip(leaves, specs, strict=True)]
    found_args, found_kwargs = [], []
    for number in range(chunks):
        mine = [leaf if cut is None else cut[number] for leaf, cut in zip(leaves, parts, strict=True)]
        one, other = _pytree.tree_unflatten(mine, shape)
        found_args.append(one)
        found_kwargs.append(other)
    return found_args, found_kwargs


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """What came of the microbatches as of one batch: tensors one behind the other, or as the specification says."""
    flat = [_pytree.tree_flatten(chunk) for chunk in chunks]
    leaves, shape = flat[0]
    if chunk_spec is None:
        specs: list[Any] = [TensorChunkSpec(0)] * len(leaves)
    else:
        specs = _pytree.tree_leaves(chunk_spec, is_leaf=lambda each: each is None)
        if len(specs) != len(leaves):
            raise ValueError(
                f"Chunk {chunks[0]} did not have the same number of values as chunk spec {chunk_spec}"
            )
    columns = zip(*(each for each, _ in flat), strict=True)
    return _pytree.tree_unflatten(
        [_merged(list(column), spec) for column, spec in zip(columns, specs, strict=True)], shape
    )


def _merged(values: list[Any], spec: Any) -> Any:
    if isinstance(spec, TensorChunkSpec):
        if not all(isinstance(each, Tensor) for each in values):
            kind = next(type(each).__name__ for each in values if not isinstance(each, Tensor))
            raise TypeError(
                f"expected Tensor as element 0 in argument 0, but got {kind}: name how it is merged in "
                "output_merge_spec"
            )
        return _functions.cat(values, spec.split_dim)
    if isinstance(spec, _CustomReducer):
        total = spec.init_value
        for each in values:
            total = spec.reduce_fn(total, each)
        return total
    first = values[0]
    for each in values[1:]:
        alike = each.equal(first) if isinstance(first, Tensor) else each == first
        if not alike:
            raise ValueError(f"expected the same value of every microbatch, got {first} and {each}")
    return first
