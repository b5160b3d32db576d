"""``torch.distributed._functional_collectives``: collectives that give new tensors, with gradients.

The tensors wait when they are used first (Note [Waiting at the first use] in ``_async_tensor.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._absent import names_of
from .._C import Tensor, _functions
from ..autograd import Function
from . import collectives
from ._async_tensor import AsyncCollectiveTensor as AsyncCollectiveTensor
from ._async_tensor import pending
from ._told import functional
from .device_mesh import DeviceMesh
from .nn.functional import AllGatherSingle, AllReduce, AllToAllSingle, ReduceScatterSingle, _check_sum
from .process_group import ProcessGroup
from .reduce_op import RedOpType
from .world import by_name, new_group, resolved


def _resolve_group(group: Any) -> ProcessGroup:
    """A group by what users write: itself, its name, its ranks, a mesh of one dimension, or a mesh and a dimension."""
    if group is None or isinstance(group, ProcessGroup):
        return resolved(group)
    if isinstance(group, str):
        return by_name(group)
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise AssertionError("Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D")
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, list) and all(isinstance(rank, int) for rank in group):
        found: ProcessGroup = new_group(group, use_local_synchronization=True)
        return found
    raise ValueError(f"expected a ProcessGroup, its name, a list of ranks or a DeviceMesh, got {group!r}")


def _resolve_group_name(group: Any, tag: str = "") -> str:
    return _resolve_group(group).group_name


def _kind(name: str) -> RedOpType:
    kind = RedOpType.__members__.get(name.upper())
    if kind is None or kind in (RedOpType.PREMUL_SUM, RedOpType.UNUSED):
        raise ValueError(
            f"reduceOp: expected one of sum, avg, product, min, max, band, bor and bxor, got {name!r}"
        )
    return kind


class _AllReduced(AllReduce):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        with functional("all_reduce"):
            return pending(*AllReduce.begin(ctx, *args))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        _check_sum("all_reduce", ctx.op)
        with functional("all_reduce"):
            return AllReduce.backward(ctx, grad)


class _Broadcasted(Function):
    """Every process keeps the gradient of its own result, as in PyTorch."""

    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        result = tensor.clone()
        with functional("broadcast"):
            return pending(result, collectives.broadcast(result, group=group, group_src=src, async_op=True))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, grad


class _AllGathered(AllGatherSingle):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        with functional("all_gather_into_tensor"):
            return pending(*AllGatherSingle.begin(ctx, *args))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        with functional("reduce_scatter_tensor"):
            return AllGatherSingle.backward(ctx, grad)


class _ReduceScattered(ReduceScatterSingle):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        with functional("reduce_scatter_tensor"):
            return pending(*ReduceScatterSingle.begin(ctx, *args))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        with functional("all_gather_into_tensor"):
            return ReduceScatterSingle.backward(ctx, grad)


class _AllToAll(AllToAllSingle):
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        with functional("all_to_all_single"):
            return pending(*AllToAllSingle.begin(ctx, *args))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        with functional("all_to_all_single"):
            return AllToAllSingle.backward(ctx, grad)


class _Waited(Function):
    """Waiting changes nothing for gradients."""

    @staticmethod
    def forward(ctx: Any, tensor: AsyncCollectiveTensor) -> Tensor:
        return tensor.trigger_wait().view_as(tensor.elem)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0]


def wait_tensor(tensor: Tensor) -> Tensor:
    """The plain tensor, when its collective is done."""
    return _Waited.apply(tensor) if isinstance(tensor, AsyncCollectiveTensor) else tensor


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The values of one."""
    return _Broadcasted.apply(src, _resolve_group(group), self)  # type: ignore[no-any-return]


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The reduction of all."""
    return _AllReduced.apply(_kind(reduceOp), _resolve_group(group), self)  # type: ignore[no-any-return]


def all_gather_single(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """Everybody's tensor, one behind the other along a dimension."""
    members = _resolve_group(group)
    whole = _AllGathered.apply(members, self)
    if gather_dim % max(self.dim(), 1) == 0:
        return whole  # type: ignore[no-any-return]
    return _functions.cat(list(whole.chunk(members.size(), 0)), gather_dim)


def reduce_scatter_single(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """This process's part, along a dimension, of the reduction of all."""
    members = _resolve_group(group)
    if self.shape[scatter_dim] % members.size():
        raise AssertionError(
            f"input dimension {scatter_dim} ({self.shape[scatter_dim]} must be a multiple of group_size "
            f"{members.size()})"
        )
    if scatter_dim % self.dim():
        self = _functions.cat(list(self.chunk(members.size(), scatter_dim)), 0)
    return _ReduceScattered.apply(_kind(reduceOp), members, self)  # type: ignore[no-any-return]


all_gather_tensor = all_gather_single_autograd = all_gather_tensor_autograd = all_gather_single
reduce_scatter_tensor = reduce_scatter_single_autograd = reduce_scatter_tensor_autograd = (
    reduce_scatter_single
)


def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """Part i of everybody's tensor reaches process i."""
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    room = _functions.empty([rows, *self.shape[1:]], dtype=self.dtype, device=self.device)
    members = _resolve_group(group)
    return _AllToAll.apply(members, room, output_split_sizes, input_split_sizes, self)  # type: ignore[no-any-return]


all_to_all_single_autograd = all_to_all_single


def permute_tensor(self: Tensor, src_dst: list[int], group: Any, tag: str = "") -> Tensor:
    """Process i's tensor reaches process ``src_dst[i]``."""
    members = _resolve_group(group)
    sizes, out_sizes = [0] * members.size(), [0] * members.size()
    for source, target in enumerate(src_dst):
        if source == members.rank():
            sizes[target] = self.numel()
        if target == members.rank():
            out_sizes[source] = self.numel()
    return all_to_all_single(self.reshape(-1), out_sizes, sizes, members).view(self.shape)


def all_reduce_coalesced(self: list[Tensor], reduceOp: str, group: Any, tag: str = "") -> list[Tensor]:
    """The reduction of each of several tensors."""
    with functional("all_reduce_coalesced"):
        return [all_reduce(tensor, reduceOp, group) for tensor in self]


def all_gather_single_coalesced(self: list[Tensor], group: Any, tag: str = "") -> list[Tensor]:
    """:func:`all_gather_single` of each of several tensors."""
    with functional("all_gather_into_tensor_coalesced"):
        return [all_gather_single(tensor, 0, group) for tensor in self]


def reduce_scatter_single_coalesced(
    inputs: list[Tensor], reduceOp: str, scatter_dim: list[int], group: Any, tag: str = ""
) -> list[Tensor]:
    """:func:`reduce_scatter_single` of each of several tensors."""
    pairs = zip(inputs, scatter_dim, strict=True)
    with functional("reduce_scatter_tensor_coalesced"):
        return [reduce_scatter_single(tensor, reduceOp, dim, group) for tensor, dim in pairs]


all_gather_into_tensor_coalesced = all_gather_single_coalesced
reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

__getattr__ = names_of(__name__)
