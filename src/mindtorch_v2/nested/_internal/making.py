"""Nested tensors of lists, of dense tensors, and of parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .nested_tensor import NestedTensor, nested_of
from .strided import strided_of


def _tensors(name: str, given: Sequence[Any], dtype: Any, device: Any, copy: bool) -> list[torch.Tensor]:
    made: list[torch.Tensor] = []
    for item in given:
        if not isinstance(item, torch.Tensor):
            if not copy:
                raise TypeError(
                    f"{name}(): Expected a list of tensors, got an item of type {type(item).__name__}"
                )
            item = torch.as_tensor(item, dtype=dtype, device=device)
        if item.is_nested:
            raise RuntimeError(f"{name}(): an item of the list is nested itself; nest dense tensors")
        item = item.detach() if copy else item
        first = made[0] if made else item
        made.append(item.to(device=device or first.device, dtype=dtype or first.dtype))
    return made


def from_list(name: str, given: Any, dtype: Any, layout: Any, device: Any, copy: bool) -> torch.Tensor:
    """A nested tensor of a list; ``copy``: without history."""
    if layout not in (None, torch.strided, torch.jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    if layout is torch.jagged:
        return jagged_from_list(_tensors(name, given, dtype, device, copy))
    if isinstance(given, torch.Tensor):
        given = given.unbind(0)
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{name}(): Expected a list of tensors, got {type(given).__name__}")
    return strided_of(
        [t.clone() for t in _tensors(name, given, dtype, device, copy)], dtype=dtype, device=device
    )


def jagged_from_list(tensors: list[torch.Tensor]) -> NestedTensor:
    """Along the dimension in which the tensors differ, the first one if they do not."""
    if not tensors:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    first = tensors[0]
    if any(t.dim() != first.dim() for t in tensors):
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dim")
    if first.dim() == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    if any(t.dtype != first.dtype for t in tensors):
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dtype")
    if any(t.device != first.device for t in tensors):
        raise RuntimeError(
            "When constructing a nested tensor, all tensors in list must be on the same device"
        )
    differing = [d for d in range(first.dim()) if len({t.shape[d] for t in tensors}) > 1]
    if len(differing) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout "
            "only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim. "
            f"Got tensors of shapes {', '.join(str(tuple(t.shape)) for t in tensors)}"
        )
    dim = differing[0] if differing else 0
    lengths = [t.shape[dim] for t in tensors]
    ends = [0]
    for length in lengths:
        ends.append(ends[-1] + length)
    made = nested_of(torch.cat(tensors, dim), torch.tensor(ends, device=first.device), None, dim + 1)
    _know(made, lengths)
    return made


def _know(nested: NestedTensor, lengths: list[int]) -> None:
    nested._size.known["lengths"] = lengths
    nested._metadata_cache.update(min_seqlen=min(lengths), max_seqlen=max(lengths))


def from_dense(dense: torch.Tensor, dtype: Any, layout: Any, device: Any) -> torch.Tensor:
    """The entries of a tensor, all of one length."""
    dense = dense.to(device=device or dense.device, dtype=dtype or dense.dtype)
    if layout is not torch.jagged:
        return from_list("as_nested_tensor", dense, None, layout, None, copy=False)
    batch, length = dense.shape[:2]
    offsets = torch.arange(batch + 1, device=dense.device) * length
    made = nested_of(dense.flatten(0, 1), offsets)
    _know(made, [length] * batch)
    return made


def narrowed(dense: torch.Tensor, dim: int, start: Any, length: Any) -> NestedTensor:
    """Views of parts of entries: values with holes."""
    if dim != 1:
        raise RuntimeError(f"jagged layout only supports dim=1, got dim={dim}")
    batch, room = dense.shape[:2]

    def of_each(number: Any) -> torch.Tensor:
        if isinstance(number, int):
            return torch.full((batch,), number, dtype=torch.int64, device=dense.device)
        if number.dim() != 1 or number.shape[0] != batch:
            raise RuntimeError(
                f"start and length must have one number for each of {batch} entries, got {number.shape}"
            )
        return number.to(dense.device)  # type: ignore[no-any-return]

    starts, lengths = of_each(start), of_each(length)
    first = torch.arange(batch, device=dense.device) * room + starts
    offsets = torch.cat([first, first.new_full((1,), batch * room)])
    if isinstance(start, int) and isinstance(length, int) and start == 0 and length == room:
        return nested_of(dense.flatten(0, 1), offsets)
    return nested_of(dense.flatten(0, 1), offsets, lengths)


def selected(dense: torch.Tensor, mask: torch.Tensor) -> NestedTensor:
    """What a mask chooses of each row."""
    if dense.layout is not torch.strided or dense.is_nested:
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {dense.layout}")
    if mask.dim() != 2 and dense.dim() != 2:
        raise RuntimeError(
            f"masked_select(): wanted two dimensions, got {tuple(dense.shape)} and {tuple(mask.shape)}"
        )
    mask = mask.expand(dense.shape)
    counts = mask.sum(1)
    offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return nested_of(dense.masked_select(mask), offsets)
