"""Jacobians of a function by finite differences, by backward and by forward mode, for gradcheck.

A Jacobian of one output by one input is real: [components of the input, components of the output], where a complex
number has two components. A product with random directions, which the fast mode compares, is one number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor
from . import forward_ad

Function = Callable[..., Any]


def tensors_of(value: Any) -> tuple[Tensor, ...]:
    items = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(t for t in items if isinstance(t, Tensor))


def differentiable_outputs(value: Any) -> list[Tensor]:
    return [t for t in tensors_of(value) if t.is_floating_point() or t.is_complex()]


def dense(tensor: Tensor) -> Tensor:
    """All elements of a tensor, whatever its layout, outside every graph."""
    tensor = tensor.detach()
    return tensor if tensor.layout is torch.strided else tensor.to_dense()


def components(tensor: Tensor) -> Tensor:
    """The real numbers of a tensor, flat."""
    flat = dense(tensor).reshape(-1)
    return torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat


def stored(tensor: Tensor) -> Tensor:
    """The elements that a tensor has memory for, to be written without autograd noticing."""
    tensor = tensor.data
    if tensor.layout is torch.strided:
        return tensor
    return tensor._values() if tensor.layout is torch.sparse_coo else tensor.values()


def with_stored(tensor: Tensor, elements: Tensor) -> Tensor:
    """A tensor with other elements in the places where this one has some."""
    tensor = tensor.detach()
    if tensor.layout is torch.strided:
        return elements
    if tensor.layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(
            tensor._indices(), elements, tensor.shape, is_coalesced=tensor.is_coalesced()
        )
    by_rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    outer, inner = (
        (tensor.crow_indices(), tensor.col_indices())
        if by_rows
        else (tensor.ccol_indices(), tensor.row_indices())
    )
    return torch.sparse_compressed_tensor(outer, inner, elements, tensor.shape, layout=tensor.layout)


def is_stored(tensor: Tensor) -> Tensor:
    """Which components of a tensor it has memory for."""
    everywhere = torch.full_like(stored(tensor), 1 + 1j if tensor.is_complex() else 1)
    return components(with_stored(tensor, everywhere)) != 0


def complete(tensor: Tensor) -> Tensor:
    """A sparse tensor that has every element, with the values of this one."""
    if tensor.layout is torch.strided:
        return tensor
    blocks = None
    if tensor.layout in (torch.sparse_bsr, torch.sparse_bsc):
        blocks = tuple(stored(tensor).shape[1:3])
    coo = tensor.layout is torch.sparse_coo
    how: dict[str, Any] = {"layout": tensor.layout, "blocksize": blocks, "dense_dim": tensor.dense_dim()}
    values = dense(tensor)
    ones = torch.ones_like(values)
    full = ones.to_sparse(tensor.sparse_dim()) if coo else ones.to_sparse(**how)
    every = torch.arange(1, values.numel() + 1, dtype=torch.float64).reshape(values.shape)
    places = (
        stored(every.to_sparse(tensor.sparse_dim()) if coo else every.to_sparse(**how)).to(torch.int64) - 1
    )
    made = with_stored(full, values.reshape(-1)[places])
    return made.requires_grad_(tensor.requires_grad)


def directions(tensor: Tensor) -> Iterator[Tensor]:
    """One for each component, as changes of what the tensor stores."""
    elements = stored(tensor)
    for i in range(elements.numel()):
        for step in (1, 1j) if tensor.is_complex() else (1,):
            one = torch.zeros_like(elements, memory_format=torch.contiguous_format)
            one.view(-1)[i] = step
            yield one


def _values(func: Function, inputs: tuple[Any, ...]) -> list[Tensor]:
    return [dense(y).clone() for y in differentiable_outputs(func(*inputs))]


def slopes(func: Function, inputs: tuple[Any, ...], x: Tensor, direction: Tensor, eps: float) -> list[Tensor]:
    """How each output moves when an input moves along a direction: central differences."""
    moved = stored(x)  # a version of its own: what backward has kept of x counts as unchanged
    before = moved.clone()
    moved.copy_(before + direction * eps)
    high = _values(func, inputs)
    moved.copy_(before - direction * eps)
    low = _values(func, inputs)
    moved.copy_(before)
    for h, l in zip(high, low, strict=True):
        for what in ("shape", "dtype"):
            if getattr(h, what) != getattr(l, what):
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {eps}, but "
                    f"got: {what}s {getattr(l, what)} and {getattr(h, what)}."
                )
    return [components(h - l) / (2 * eps) for h, l in zip(high, low, strict=True)]


def _stacked(rows: list[list[Tensor]], x: Tensor, outputs: Sequence[Tensor]) -> list[Tensor]:
    """A Jacobian for each output, from the rows of the elements that are stored; the others are zero."""
    if not rows:
        count = components(x).numel()
        return [
            components(y).new_zeros(count, components(y).numel(), dtype=dense(x).real.dtype) for y in outputs
        ]
    found = [torch.stack([row[o] for row in rows]) for o in range(len(outputs))]
    if x.layout is torch.strided:
        return found
    places = torch.stack([components(with_stored(x, d)) for d in directions(x)], 1)
    return [places.to(one.dtype) @ one for one in found]


def numerical(
    func: Function, inputs: tuple[Any, ...], x: Tensor, outputs: Sequence[Tensor], eps: float
) -> list[Tensor]:
    return _stacked([slopes(func, inputs, x, d, eps) for d in directions(x)], x, outputs)


def gradients(output: Tensor, xs: list[Tensor], weight: Tensor) -> list[Tensor]:
    found = torch.autograd.grad(output, xs, weight, retain_graph=True, allow_unused=True)
    return [torch.zeros_like(dense(x)) if g is None else dense(g) for x, g in zip(xs, found, strict=True)]


def backward(output: Tensor, xs: list[Tensor]) -> list[Tensor]:
    """The Jacobian by each input, a backward per component of the output."""
    columns = [[components(g) for g in gradients(output, xs, d)] for d in directions(output)]
    return [
        torch.stack([column[i] for column in columns], 1)
        if columns
        else components(x).new_zeros(components(x).numel(), 0)
        for i, x in enumerate(xs)
    ]


def pushed(
    func: Function, inputs: tuple[Any, ...], moving: dict[int, Tensor], count: int
) -> list[Tensor | None]:
    """How each output moves when inputs move, by forward mode; `moving` has directions by the input's place."""
    with forward_ad.dual_level():
        given = [
            forward_ad.make_dual(x.detach(), moving[i])
            if i in moving
            else x.detach()
            if isinstance(x, Tensor)
            else x
            for i, x in enumerate(inputs)
        ]
        made = [forward_ad.unpack_dual(y).tangent for y in differentiable_outputs(func(*given))]
    if len(made) != count:
        raise RuntimeError(f"the function returned {len(made)} differentiable outputs, and {count} before")
    return [None if t is None else t.detach() for t in made]


def along(
    func: Function, inputs: tuple[Any, ...], moving: dict[int, Tensor], outputs: Sequence[Tensor]
) -> list[Tensor]:
    """The same as components, zeros for outputs that stay."""
    made = pushed(func, inputs, moving, len(outputs))
    return [components(torch.zeros_like(y) if t is None else t) for t, y in zip(made, outputs, strict=True)]


def forward(func: Function, inputs: tuple[Any, ...], place: int, outputs: Sequence[Tensor]) -> list[Tensor]:
    x = inputs[place]
    still = at_rest(inputs)
    return _stacked([along(func, inputs, {**still, place: d}, outputs) for d in directions(x)], x, outputs)


def at_rest(inputs: tuple[Any, ...]) -> dict[int, Tensor]:
    """Directions of length zero."""
    return {
        i: torch.zeros_like(x.detach())
        for i, x in enumerate(inputs)
        if isinstance(x, Tensor) and x.requires_grad
    }


def random_direction(tensor: Tensor, generator: torch.Generator) -> Tensor:
    """Of length one, so that what it is multiplied with keeps its size; a change of what the tensor stores."""
    kept = stored(tensor)
    made = torch.rand(kept.shape, generator=generator, dtype=kept.dtype).to(kept.device)
    length = components(made).norm()
    return made / length if made.numel() else made
