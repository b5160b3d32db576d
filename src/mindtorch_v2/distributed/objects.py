"""Collectives of Python objects, which are pickled."""

from __future__ import annotations

import pickle
from typing import Any

from .. import _C
from .._C import Tensor, _functions
from .._tensor.buffers import frombuffer
from . import collectives, messages
from .process_group import ProcessGroup

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list",
]  # fmt: skip


def _packed(value: Any, device: Any) -> Tensor:
    return frombuffer(bytearray(pickle.dumps(value)), dtype=_C.uint8).to(device)


def _unpacked(tensor: Tensor) -> Any:
    return pickle.loads(bytes(tensor.cpu().numpy()))  # of the same program


def _room(length: int, device: Any) -> Tensor:
    return _functions.empty([length], dtype=_C.uint8, device=device)


def _numbers(values: list[int], device: Any) -> Tensor:
    made = _functions.empty([len(values)], dtype=_C.int64)
    for index, value in enumerate(values):
        made[index] = value
    return made.to(device)


def _padded(members: ProcessGroup, obj: Any) -> tuple[Tensor, list[int]]:
    """The object in as many bytes as the longest one has, and how long each is."""
    own = _packed(obj, members.object_device)
    lengths = _numbers([0] * members.size(), members.object_device)
    collectives.all_gather_single(lengths, _numbers([own.numel()], members.object_device), members)
    counts = [int(each) for each in lengths.tolist()]
    padded = _room(max(counts), members.object_device)
    padded[: own.numel()] = own
    return padded, counts


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Everybody's object reaches all."""
    if (members := collectives.member(group)) is None:
        return
    padded, lengths = _padded(members, obj)
    room = _functions.empty([len(lengths), padded.numel()], dtype=_C.uint8, device=padded.device)
    collectives.all_gather_single(room, padded, members)
    for index, length in enumerate(lengths):
        object_list[index] = _unpacked(room[index][:length])


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Everybody's object reaches one."""
    if (members := collectives.member(group)) is None:
        return
    root = collectives.rank_in(members, dst, group_dst, default=0)
    if members.rank() == root and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if members.rank() != root and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    padded, lengths = _padded(members, obj)
    rooms = [_room(padded.numel(), padded.device) for _ in lengths] if members.rank() == root else None
    collectives.gather(padded, rooms, group=members, group_dst=root)
    for index, room in enumerate(rooms or []):
        assert object_gather_list is not None
        object_gather_list[index] = _unpacked(room[: lengths[index]])


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """One's objects replace those of all."""
    if (members := collectives.member(group)) is None:
        return
    home = device or members.object_device
    root = collectives.rank_in(members, src, group_src, default=0)
    parts = [_packed(value, home) for value in object_list] if members.rank() == root else []
    sizes = _numbers([part.numel() for part in parts] or [0] * len(object_list), home)
    collectives.broadcast(sizes, group=members, group_src=root)
    lengths = [int(each) for each in sizes.tolist()]
    room = _functions.cat(parts) if parts else _room(sum(lengths), home)
    collectives.broadcast(room, group=members, group_src=root)
    if members.rank() != root:
        object_list[:] = [_unpacked(part) for part in room.split(lengths)]


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Each of one's objects reaches another."""
    if (members := collectives.member(group)) is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = collectives.rank_in(members, src, group_src, default=0)
    home = members.object_device
    rooms, lengths = None, _numbers([0] * members.size(), home)
    if members.rank() == root:
        if scatter_object_input_list is None or len(scatter_object_input_list) != members.size():
            raise ValueError(f"source rank must provide an object for each of the {members.size()} processes")
        parts = [_packed(value, home) for value in scatter_object_input_list]
        lengths = _numbers([part.numel() for part in parts], home)
        longest = max(part.numel() for part in parts)
        rooms = [_room(longest, home) for _ in parts]
        for room, part in zip(rooms, parts, strict=True):
            room[: part.numel()] = part
    collectives.broadcast(lengths, group=members, group_src=root)
    counts = [int(each) for each in lengths.tolist()]
    own = _room(max(counts), home)
    collectives.scatter(own, rooms, group=members, group_src=root)
    scatter_object_output_list[0] = _unpacked(own[: counts[members.rank()]])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Sends objects to one."""
    if (members := collectives.member(group)) is None:
        return
    home = device or members.object_device
    parts = [_packed(value, home) for value in object_list]
    messages.send(_numbers([part.numel() for part in parts], home), dst, members, group_dst=group_dst)
    messages.send(_functions.cat(parts), dst, members, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receives as many objects as the list has; gives who sent them."""
    if (members := collectives.member(group)) is None:
        return -1
    home = device or members.object_device
    sizes = _numbers([0] * len(object_list), home)
    sender = messages.recv(sizes, src, members, group_src=group_src)
    lengths = [int(each) for each in sizes.tolist()]
    room = _room(sum(lengths), home)
    messages.recv(room, sender, members)
    object_list[:] = [_unpacked(part) for part in room.split(lengths)]
    return int(sender)
