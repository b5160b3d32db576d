"""``vmap``: a function over slices, mapped over a dimension.

The function runs once per slice and the results are stacked. That is right for every operator, for control flow that
depends on values, and for gradients; it is as fast as the loop it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import chain
from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor
from .._devices import registry
from ..autograd._passes import loop
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
        raise ValueError("vmap: got no mapped inputs: in_dims is None for all of them")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return int(sizes[0])


class _Randomness:
    """What random operators may do inside: draw anew, draw the same for all, or not be called."""

    def __init__(self, kind: str) -> None:
        if kind not in ("error", "different", "same"):
            raise RuntimeError(
                f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {kind}"
            )
        self.kind = kind
        self.states = {} if kind == "different" else _generator_states()

    def before(self) -> None:
        if self.kind == "same":
            for kind, states in self.states.items():
                if kind == "cpu":
                    torch.set_rng_state(states[0])
                else:
                    registry.accelerators[kind].module.set_rng_state_all(states)

    def after(self) -> None:
        if self.kind == "error" and not all(
            map(torch.equal, chain(*self.states.values()), chain(*_generator_states().values()))
        ):
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )


def _generator_states() -> dict[str, list[Tensor]]:
    """Of the CPU, and of all devices of a kind once one is in use."""
    used = [found for found in registry.accelerators.values() if found.module.is_initialized()]
    return {
        "cpu": [torch.get_rng_state()],
        **{found.type: found.module.get_rng_state_all() for found in used},
    }


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that calls ``func`` with each slice along ``in_dims`` and stacks the results along ``out_dims``."""
    if chunk_size is not None and not chunk_size > 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        random = _Randomness(randomness)
        leaves, dims, spec = _input_dims(func, in_dims, args)
        size = _batch_size(leaves, dims)
        if size == 0:
            raise ValueError(
                "vmap: the mapped dimension has size 0, so there is no slice to call the function with"
            )
        results: list[list[Any]] = []
        output_spec: TreeSpec | None = None
        parts = [None if d is None else torch.unbind(x, d) for x, d in zip(leaves, dims, strict=True)]
        for index in range(size):
            slices = [_anew(x) if p is None else p[index] for x, p in zip(leaves, parts, strict=True)]
            random.before()
            coming = index + 1 < size  # a graph from outside the function is differentiated again
            loop.more += coming
            try:
                result, found_spec = tree_flatten(func(*spec.unflatten(slices), **kwargs), _is_tensor_like)
            finally:
                loop.more -= coming
            if index == 0:
                random.after()
                output_spec = found_spec
            results.append(result)
        assert output_spec is not None
        return _stack(func, results, output_spec, out_dims)

    return mapped


def _anew(leaf: Any) -> Any:
    """What all calls get: a container is a new one in each, so that none sees what another wrote into it."""
    return leaf if isinstance(leaf, Tensor) else tree_map(lambda inside: inside, leaf)


def _stack(func: Callable[..., Any], results: list[list[Any]], spec: TreeSpec, out_dims: Any) -> Any:
    dims: list[Any] = []
    given = tuple(out_dims) if isinstance(out_dims, list) else out_dims
    if isinstance(given, tuple) and len(given) == 1 and spec.is_leaf():
        given = given[0]
    if not _spread(spec, given, dims):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {tree_flatten(given)[1]} but outputs has structure {spec}."
        )
    stacked: list[Any] = []
    for place, dim in enumerate(dims):
        first = results[0][place]
        if dim is None:
            stacked.append(first)
            continue
        if not _is_tensor_like(first):
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(first)}. Did you "
                "mean to set out_dims= to None for output?"
            )
        stacked.append(torch.stack([result[place] for result in results], dim))
    return spec.unflatten(stacked)
