"""From one set of placements to another: which collectives, and the arithmetic of parts.

Note [Changing placements]
Each dimension of the mesh changes on its own, by one collective: parts are gathered (Shard to Replicate), exchanged
(Shard to another Shard), reduced (Partial to Replicate) or reduced in parts (Partial to Shard); a whole is cut without
a message. Where two dimensions of the mesh cut the same dimension of the tensor, the one to the right cuts the
parts of the one to the left, so all cuts of it from the first that changes on are undone from the right and made again
from the left (a ``_StridedShard`` is cut last, wherever it stands). Parts may differ in length: they are filled up to
the longest for the message and cut again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from ... import _C
from ..._C import Tensor, _functions
from .. import collectives
from .._told import functional, told_as
from ..device_mesh import DeviceMesh
from ..process_group import ProcessGroup
from ..reduce_op import RedOpType, ReduceOp
from .placement_types import Partial, Placement, Replicate, Shard, cut_order

_REDUCTIONS = {"sum": ReduceOp.SUM, "max": ReduceOp.MAX, "min": ReduceOp.MIN, "product": ReduceOp.PRODUCT}


def local_shape_and_offset(
    shape: Sequence[int],
    mesh: DeviceMesh,
    placements: Sequence[Placement],
    coordinate: Sequence[int] | None = None,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of a process's part, and where it begins in the whole."""
    place = coordinate if coordinate is not None else mesh.get_coordinate()
    if place is None:  # not in the mesh
        return (0,), ()
    sizes, begins = list(shape), [0] * len(shape)
    for dim in cut_order(placements):
        placement = placements[dim]
        assert isinstance(placement, Shard)
        begin, length = placement.part(sizes[placement.dim], mesh.size(dim), place[dim])
        begins[placement.dim] += begin
        sizes[placement.dim] = length
    return tuple(sizes), tuple(begins)


def normalized(placements: Sequence[Placement], ndim: int) -> tuple[Placement, ...]:
    """With dimensions counted from the front."""
    return tuple(
        replace(each, dim=each.dim % ndim) if isinstance(each, Shard) and each.dim < 0 else each
        for each in placements
    )


def redistribute(
    local: Tensor,
    shape: Sequence[int],
    mesh: DeviceMesh,
    before: Sequence[Placement],
    after: Sequence[Placement],
) -> Tensor:
    """The local part under other placements. Note [Changing placements]."""
    now = list(before)
    for dim in _undone_first(before, after):
        local, now[dim] = _change(local, shape, mesh, now, dim, Replicate())
    cuts = cut_order(after)
    for dim in [*(dim for dim in range(len(after)) if dim not in cuts), *cuts]:
        wanted = after[dim]
        if now[dim] != wanted:
            local, now[dim] = _change(local, shape, mesh, now, dim, wanted)
    return local


def _undone_first(before: Sequence[Placement], after: Sequence[Placement]) -> list[int]:
    """Dimensions of the mesh, the last cut first, whose cuts lie inside one that changes or lead to a new one."""
    order, later = cut_order(before), cut_order(after)
    cuts: dict[int, tuple[list[int], list[int]]] = {}
    for at, (placements, dims) in enumerate(((before, order), (after, later))):
        for dim in dims:
            placement = placements[dim]
            assert isinstance(placement, Shard)
            cuts.setdefault(placement.dim, ([], []))[at].append(dim)
    undone: set[int] = set()
    for old, new in cuts.values():
        if len({*old, *new}) > 1:
            same = 0
            while (
                same < min(len(old), len(new))
                and old[same] == new[same]
                and (before[old[same]] == after[new[same]])
            ):
                same += 1
            undone |= set(old[same:])
    return [dim for dim in reversed(order) if dim in undone]


def _change(
    local: Tensor, shape: Sequence[int], mesh: DeviceMesh, now: list[Placement], dim: int, wanted: Placement
) -> tuple[Tensor, Placement]:
    group, parts = mesh.get_group(dim), mesh.size(dim)
    coordinate = mesh.get_coordinate()
    assert coordinate is not None
    index, current = coordinate[dim], now[dim]
    # The tensor as it is cut by the other dimensions of the mesh: what this one cuts.
    others = [Replicate() if at == dim else each for at, each in enumerate(now)]
    sizes, _ = local_shape_and_offset(shape, mesh, others)
    if isinstance(current, Shard) and isinstance(wanted, Replicate):
        return _gathered(local, sizes, current, group, parts), wanted
    if isinstance(current, Shard) and isinstance(wanted, Shard):
        if current.dim == wanted.dim:  # the only cut of it: the order of cuts does not matter
            return local, wanted
        return _exchanged(local, sizes, current, wanted, group, parts, index), wanted
    if isinstance(current, Partial) and isinstance(wanted, Replicate):
        return _reduced(local, current, group, parts), wanted
    if isinstance(current, Partial) and isinstance(wanted, Shard):
        return _reduced_parts(local, sizes, current, wanted, group, parts, index), wanted
    if isinstance(current, Replicate) and isinstance(wanted, Shard):
        begin, length = wanted.part(sizes[wanted.dim], parts, index)
        return local.narrow(wanted.dim, begin, length).contiguous(), wanted
    if isinstance(current, Replicate) and isinstance(wanted, Partial):
        if wanted.reduce_op == "sum":
            return (local if index == 0 else _functions.zeros_like(local)), wanted
        return local, wanted  # the largest, smallest or mean of equal values is the value
    raise RuntimeError(f"a tensor cannot go from {current} to {wanted}; redistribute it to Replicate() first")


def _filled(local: Tensor, dim: int, length: int) -> Tensor:
    """Made longer, if it is shorter."""
    missing = length - local.shape[dim]
    if missing == 0:
        return local.contiguous()
    sizes = list(local.shape)
    sizes[dim] = missing
    return _functions.cat([local, local.new_zeros(sizes)], dim)


def _gathered(local: Tensor, sizes: Sequence[int], shard: Shard, group: ProcessGroup, parts: int) -> Tensor:
    longest = -(-sizes[shard.dim] // parts)
    sent = _filled(local, shard.dim, longest)
    received = sent.new_empty((parts, *sent.shape))
    with functional("all_gather_into_tensor"):
        collectives.all_gather_single(received.view(-1), sent.view(-1), group=group)
    if shard.dim == 0:
        whole = received.view(parts * longest, *sent.shape[1:])
    else:
        whole = _functions.cat(list(received.unbind(0)), shard.dim)
    return (
        whole.narrow(shard.dim, 0, sizes[shard.dim]) if whole.shape[shard.dim] != sizes[shard.dim] else whole
    )


def _exchanged(
    local: Tensor, sizes: Sequence[int], old: Shard, new: Shard, group: ProcessGroup, parts: int, index: int
) -> Tensor:
    old_longest, new_longest = -(-sizes[old.dim] // parts), -(-sizes[new.dim] // parts)
    sent = _filled(_filled(local, old.dim, old_longest), new.dim, new_longest * parts)
    pieces = _functions.stack([each.contiguous() for each in sent.chunk(parts, new.dim)])
    received = _functions.empty_like(pieces)
    with _told_as_exchange(local):
        collectives.all_to_all_single(received, pieces, group=group)
    whole = _functions.cat(list(received.unbind(0)), old.dim)
    _, length = new.part(sizes[new.dim], parts, index)
    return whole.narrow(old.dim, 0, sizes[old.dim]).narrow(new.dim, 0, length).contiguous()


def _told_as_exchange(local: Tensor) -> AbstractContextManager[None]:
    """Counted as PyTorch counts it: its Gloo cannot exchange parts and gathers them all."""
    if local.device.type == "cpu":
        return functional("all_gather_into_tensor")
    return told_as("_dtensor.shard_dim_alltoall")


def scattered(whole: Tensor, shard: Shard, mesh: DeviceMesh, dim: int, source: int) -> Tensor:
    """The parts of one process's tensor, one for each along a dimension of the mesh."""
    group, parts, index = mesh.get_group(dim), mesh.size(dim), mesh.get_local_rank(dim)
    size = whole.shape[shard.dim]
    longest = -(-size // parts)
    pieces = None
    if index == source:
        pieces = [
            each.contiguous() for each in _filled(whole, shard.dim, longest * parts).chunk(parts, shard.dim)
        ]
    sizes = list(whole.shape)
    sizes[shard.dim] = longest
    received = whole.new_empty(sizes)
    collectives.scatter(received, pieces, group=group, group_src=source)
    return received.narrow(shard.dim, 0, shard.part(size, parts, index)[1]).contiguous()


def _reduced(local: Tensor, partial: Partial, group: ProcessGroup, parts: int) -> Tensor:
    made = partial.before(local, parts)
    made = made.clone(memory_format=_C.contiguous_format) if made is local else made.contiguous()
    with functional("all_reduce"):
        collectives.all_reduce(made, _reduction(partial), group=group)
    return partial.after(made, parts)


def _reduced_parts(
    local: Tensor,
    sizes: Sequence[int],
    partial: Partial,
    shard: Shard,
    group: ProcessGroup,
    parts: int,
    index: int,
) -> Tensor:
    longest = -(-sizes[shard.dim] // parts)
    sent = _filled(partial.before(local, parts), shard.dim, longest * parts)
    pieces = _functions.stack([each.contiguous() for each in sent.chunk(parts, shard.dim)])
    made = pieces.new_empty(pieces.shape[1:])
    with functional("reduce_scatter_tensor"):
        collectives.reduce_scatter_single(made.view(-1), pieces.view(-1), _reduction(partial), group=group)
    _, length = shard.part(sizes[shard.dim], parts, index)
    return partial.after(made.narrow(shard.dim, 0, length).contiguous(), parts)


def _reduction(partial: Partial) -> RedOpType:
    return _REDUCTIONS[partial.collective]
