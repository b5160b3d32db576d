"""The collectives as functions, with PyTorch's signatures."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from .._C import Tensor
from ..overrides import wrap_torch_function
from ._told import told_as
from .errors import DistBackendError
from .process_group import ProcessGroup
from .reduce_op import ReduceOp, as_reduce_op
from .work import Work
from .world import GroupMember, get_group_rank, resolved

__all__ = [
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "broadcast", "gather", "monitored_barrier",
    "reduce", "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter",
]  # fmt: skip


def _tensors(*args: Any, **kwargs: Any) -> Iterator[Any]:
    """The arguments that may want to be asked instead."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


asks = wrap_torch_function(_tensors)


def member(group: Any) -> ProcessGroup | None:
    """The group, if this process is one of it; others are told and do nothing."""
    if group is not GroupMember.NON_GROUP_MEMBER:
        return resolved(group)
    warnings.warn("this process is no member of the group: its call does nothing", stacklevel=4)
    return None


def check(value: Any, name: str) -> None:
    """Refuses what is no tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got "
            f"{type(value)} instead."
        )


def check_list(values: Any, name: str) -> None:
    """Refuses what is no list of tensors."""
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, Tensor) for value in values):
        kinds = [type(value) for value in values] if isinstance(values, (list, tuple)) else None
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             but got "
            f"{type(values)} with elements of type {kinds}."
        )


def rank_in(group: ProcessGroup, rank: int | None, group_rank: int | None, default: int | None = None) -> int:
    """The rank in the group of one who is named among all processes, or in the group."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if rank is None and group_rank is None:
        if default is None:
            raise ValueError("Must specify global_rank or group_rank")
        return default
    if group_rank is not None:
        return group_rank
    assert rank is not None
    return rank if group.ranks == tuple(range(group.size())) else get_group_rank(group, rank)


def done(group: ProcessGroup, work: Work, async_op: bool) -> Work | None:
    """What a collective returns: a work, or nothing once it is done."""
    if group.coalescing is not None:
        group.coalescing.append(work)
    elif not async_op:
        work.wait()
    if async_op or group.coalescing is not None:
        work.begin()
    return work if async_op else None


def _older_name(old: str, new: str) -> None:
    warnings.warn(
        f"`torch.distributed.{old}` is deprecated. Please use `torch.distributed.{new}` instead.",
        FutureWarning,
        stacklevel=3,
    )


@asks
def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """The values of one reach all."""
    check(tensor, "tensor")
    if (members := member(group)) is None:
        return None
    return done(members, members.broadcast(tensor, rank_in(members, src, group_src)), async_op)


@asks
def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """All get the reduction of all."""
    check(tensor, "tensor")
    if (members := member(group)) is None:
        return None
    return done(members, members.all_reduce([tensor], as_reduce_op(op)), async_op)


@asks
def all_reduce_coalesced(
    tensors: Tensor | list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The same for each of several tensors."""
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    check_list(given, "tensors")
    if (members := member(group)) is None:
        return None
    with told_as("c10d.allreduce_coalesced_"):
        work = members.all_reduce(given, as_reduce_op(op))
    return done(members, work, async_op)


@asks
def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """One gets the reduction of all."""
    check(tensor, "tensor")
    if (members := member(group)) is None:
        return None
    root = rank_in(members, dst, group_dst)
    return done(members, members.reduce(tensor, root, as_reduce_op(op)), async_op)


@asks
def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Everybody's tensor reaches all, as a list."""
    check_list(tensor_list, "tensor_list")
    check(tensor, "tensor")
    if (members := member(group)) is None:
        return None
    return done(members, members.all_gather(list(tensor_list), tensor), async_op)


@asks
def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:  # fmt: skip
    """Everybody's tensors reach all: a list of the tensors of each process."""
    check_list(input_tensor_list, "tensor_list")
    for outputs in output_tensor_lists:
        check_list(outputs, "output_tensor_list")
    if (members := member(group)) is None:
        return None
    return done(members, members.all_gather_many(output_tensor_lists, input_tensor_list), async_op)


@asks
def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Everybody's tensor reaches all, one behind the other."""
    check(output_tensor, "output_tensor")
    check(input_tensor, "input_tensor")
    if (members := member(group)) is None:
        return None
    return done(members, members.all_gather_into(output_tensor, input_tensor), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """The older name of :func:`all_gather_single`."""
    _older_name("all_gather_into_tensor", "all_gather_single")
    return all_gather_single(output_tensor, input_tensor, group, async_op)  # type: ignore[no-any-return]


def _all_gather_base(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """The oldest name of :func:`all_gather_single`."""
    _older_name("_all_gather_base", "all_gather_single")
    return all_gather_single(output_tensor, input_tensor, group, async_op)  # type: ignore[no-any-return]


@asks
def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:  # fmt: skip
    """Everybody gets the reduction of one tensor of the lists."""
    check(output, "output")
    check_list(input_list, "input_list")
    if (members := member(group)) is None:
        return None
    return done(members, members.reduce_scatter(output, list(input_list), as_reduce_op(op)), async_op)


@asks
def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Everybody gets the reduction of its part."""
    check(output, "output")
    check(input, "input")
    if (members := member(group)) is None:
        return None
    return done(members, members.reduce_scatter_from(output, input, as_reduce_op(op)), async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The older name of :func:`reduce_scatter_single`."""
    _older_name("reduce_scatter_tensor", "reduce_scatter_single")
    return reduce_scatter_single(output, input, op, group, async_op)  # type: ignore[no-any-return]


def _reduce_scatter_base(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The oldest name of :func:`reduce_scatter_single`."""
    _older_name("_reduce_scatter_base", "reduce_scatter_single")
    return reduce_scatter_single(output, input, op, group, async_op)  # type: ignore[no-any-return]


@asks
def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Everybody's tensor reaches one."""
    check(tensor, "tensor")
    if gather_list:
        check_list(gather_list, "gather_list")
    if (members := member(group)) is None:
        return None
    root = rank_in(members, dst, group_dst, default=0)
    return done(members, members.gather(list(gather_list or []), tensor, root), async_op)


@asks
def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Each of one's tensors reaches another."""
    check(tensor, "tensor")
    if scatter_list:
        check_list(scatter_list, "scatter_list")
    if (members := member(group)) is None:
        return None
    root = rank_in(members, src, group_src, default=0)
    return done(members, members.scatter(tensor, list(scatter_list or []), root), async_op)


@asks
def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:  # fmt: skip
    """Tensor i of everybody reaches process i."""
    check_list(output_tensor_list, "output_tensor_list")
    check_list(input_tensor_list, "input_tensor_list")
    if (members := member(group)) is None:
        return None
    return done(members, members.all_to_all(list(output_tensor_list), list(input_tensor_list)), async_op)


@asks
def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Part i of everybody's tensor reaches process i."""
    check(output, "output")
    check(input, "input")
    if (members := member(group)) is None:
        return None
    return done(
        members, members.all_to_all_single(output, input, output_split_sizes, input_split_sizes), async_op
    )


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Returns when all have called it."""
    if (members := member(group)) is None:
        return None
    work = members.barrier()
    if timeout is not None and not async_op:
        work.wait(timeout)
        return None
    return done(members, work, async_op)


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """A barrier that names the processes which do not come in time."""
    if (members := member(group)) is None:
        return
    limit = timeout or members.timeout
    store, key = members.get_group_store(), f"monitored {members.next_monitored()}"
    store.set(f"{key}/{members.rank()}", "1")
    if members.rank() != 0:
        try:
            store.wait([f"{key}/all"], limit)
        except RuntimeError as error:
            raise DistBackendError(
                f"Rank {members.rank()} reached monitoredBarrier, but rank 0 did not let it go on within "
                f"{limit.total_seconds():g} s: another process has not reached it, or rank 0 is gone ({error})"
            ) from error
        return
    late = []
    for rank in range(1, members.size()):
        try:
            store.wait([f"{key}/{rank}"], limit)
        except RuntimeError:
            late.append(rank)
            if not wait_all_ranks:
                break
    if late:
        names = ", ".join(map(str, late))
        raise DistBackendError(
            f"Rank 0 successfully reached monitoredBarrier, but ranks {names} failed to reach it within "
            f"{limit.total_seconds():g} s. Please check them, and increase the timeout if they are only slow."
        )
    store.set(f"{key}/all", "1")


class _CoalescingManager:
    """What :func:`_coalescing_manager` gives: the works that were begun inside."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Returns when all are done."""
        for work in self.works:
            work.wait()
        self.works = []


@contextmanager
def _coalescing_manager(
    group: Any = None, device: Any = None, async_ops: bool = False
) -> Iterator[_CoalescingManager]:
    """Collectives inside are begun and not waited for; the end waits for all, unless ``async_ops``."""
    members, manager = resolved(group), _CoalescingManager()
    if members.coalescing is not None:
        raise ValueError("ProcessGroup has non-empty op list at the start of coalescing")
    members.coalescing = manager.works
    try:
        yield manager
    finally:
        members.coalescing = None
    if not async_ops:
        manager.wait()
