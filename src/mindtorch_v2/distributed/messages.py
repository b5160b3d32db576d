"""Messages between two processes, with PyTorch's signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._C import Tensor
from .collectives import asks, check, done, member, rank_in
from .process_group import ProcessGroup
from .work import Work
from .world import resolved

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def _other(members: ProcessGroup, rank: int | None, group_rank: int | None, name: str) -> int:
    peer = rank_in(members, rank, group_rank)
    if peer == members.rank():
        raise ValueError(
            f"Invalid {name} rank: {name} rank should not be the same as the rank of the current process."
        )
    return peer


@asks
def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Sends without waiting."""
    check(tensor, "tensor")
    if (members := member(group)) is None:
        return None
    peer = _other(members, dst, group_dst, "destination")
    return done(members, members.send(tensor, peer, tag), async_op=True)


@asks
def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Receives without waiting, from one or from anybody."""
    check(tensor, "tensor")
    if (members := member(group)) is None:
        return None
    anybody = src is None and group_src is None
    peer = None if anybody else _other(members, src, group_src, "source")
    return done(members, members.receive(tensor, peer, tag), async_op=True)


@asks
def send(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> None:
    """Sends to one."""
    check(tensor, "tensor")
    if (members := member(group)) is not None:
        members.send(tensor, _other(members, dst, group_dst, "destination"), tag).wait()


@asks
def recv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> int:
    """Receives from one, or from anybody; gives who sent it."""
    check(tensor, "tensor")
    if (members := member(group)) is None:
        return -1
    anybody = src is None and group_src is None
    work = members.receive(tensor, None if anybody else _other(members, src, group_src, "source"), tag)
    work.wait()
    return members.ranks[work.source_rank()]


class P2POp:
    """A message for :func:`batch_isend_irecv`."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = resolved(group)
        self.group_peer = rank_in(self.group, peer, group_peer)
        self.peer = self.group.ranks[self.group_peer]

    def __repr__(self) -> str:
        ends = (self.group.rank(), self.group_peer)
        source, target = ends if self.op is isend else ends[::-1]
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, group_dst={target},  "
            f"{self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Several messages at once; gives a work for each."""
    if not p2p_op_list or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``."
        )
    if any(each.group is not p2p_op_list[0].group for each in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    works = []
    for each in p2p_op_list:
        key = "group_dst" if each.op is isend else "group_src"
        works.append(each.op(each.tensor, group=each.group, tag=each.tag, **{key: each.group_peer}))
    return works
