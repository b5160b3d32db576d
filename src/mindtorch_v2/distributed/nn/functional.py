"""``torch.distributed.nn.functional``: collectives with gradients.

The gradient of a collective is a collective: what came together is taken apart and the other way round. All processes
run the backward pass, in the order of the forward pass turned round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _C
from ..._C import Tensor, _functions
from ...autograd import Function
from .. import collectives
from ..reduce_op import ReduceOp
from ..world import get_rank, get_world_size, resolved

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "scatter",
]  # fmt: skip


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        collectives.broadcast(result, src, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        summed = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, summed if get_rank() == ctx.src else _functions.zeros_like(summed)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        collectives.reduce(result, dst, op=op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad.contiguous())


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        parts = [_functions.zeros_like(tensor) for _ in range(get_world_size(group))]
        here = get_rank() == dst
        collectives.gather(tensor.contiguous(), parts if here else None, dst, group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = _functions.zeros_like(tensors[0])
        parts = [tensor.contiguous() for tensor in tensors] if get_rank() == src else None
        collectives.scatter(result, parts, src, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: Tensor, *tensors: Tensor) -> Tensor:
        ctx.group = group
        result = _functions.empty_like(output)
        collectives.reduce_scatter(result, [tensor.contiguous() for tensor in tensors], op=op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        parts = [_functions.empty_like(tensor) for _ in range(get_world_size(group))]
        collectives.all_gather(parts, tensor.contiguous(), group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, grads[resolved(ctx.group).rank()], *grads)


class AllGatherSingle(Function):
    """Everybody's tensor, one behind the other; the gradient is :class:`ReduceScatterSingle`'s forward."""

    @staticmethod
    def begin(ctx: Any, group: Any, tensor: Tensor) -> tuple[Tensor, Any]:
        """Begins it: what it will give, and the work."""
        ctx.group = group
        shape = (
            [tensor.shape[0] * get_world_size(group), *tensor.shape[1:]]
            if tensor.dim()
            else [get_world_size(group)]
        )
        result = _functions.empty(shape, dtype=tensor.dtype, device=tensor.device)
        work = collectives.all_gather_single(result, tensor.contiguous(), group=group, async_op=True)
        return result, work

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        result, work = AllGatherSingle.begin(ctx, *args)
        work.wait()
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, ReduceScatterSingle.apply(ReduceOp.SUM, ctx.group, grad)


class ReduceScatterSingle(Function):
    """A part of the reduction; the gradient is :class:`AllGatherSingle`'s forward."""

    @staticmethod
    def begin(ctx: Any, op: Any, group: Any, tensor: Tensor) -> tuple[Tensor, Any]:
        """Begins it: what it will give, and the work."""
        ctx.op, ctx.group = op, group
        rows, size = tensor.shape[0], get_world_size(group)
        if rows % size:
            raise RuntimeError(
                f"reduce_scatter: dimension 0 has {rows} rows, which are not {size} equal parts"
            )
        result = _functions.empty([rows // size, *tensor.shape[1:]], dtype=tensor.dtype, device=tensor.device)
        work = collectives.reduce_scatter_single(
            result, tensor.contiguous(), op=op, group=group, async_op=True
        )
        return result, work

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        result, work = ReduceScatterSingle.begin(ctx, *args)
        work.wait()
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        _check_sum("reduce_scatter_tensor", ctx.op)
        return None, None, AllGatherSingle.apply(ctx.group, grad)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: list[Tensor], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [tensor.shape for tensor in tensors]
        results = [_functions.empty_like(output) for output in outputs]
        collectives.all_to_all(results, [tensor.contiguous() for tensor in tensors], group=group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        like = grads[0]
        outputs = [
            _functions.empty(list(shape), dtype=like.dtype, device=like.device) for shape in ctx.shapes
        ]
        return None, None, *_AllToAll.apply(ctx.group, outputs, *grads)


class AllToAllSingle(Function):
    """Part i reaches process i; the gradient is the same with the sizes exchanged."""

    @staticmethod
    def begin(
        ctx: Any,
        group: Any,
        output: Tensor,
        out_sizes: Sequence[int] | None,
        sizes: Sequence[int] | None,
        tensor: Tensor,
    ) -> tuple[Tensor, Any]:
        """Begins it: what it will give, and the work."""
        ctx.group, ctx.shape, ctx.sizes, ctx.out_sizes = group, tensor.shape, sizes, out_sizes
        result = _functions.empty_like(output)
        work = collectives.all_to_all_single(
            result, tensor.contiguous(), out_sizes, sizes, group=group, async_op=True
        )
        return result, work

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        result, work = AllToAllSingle.begin(ctx, *args)
        work.wait()
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        room = _functions.empty(list(ctx.shape), dtype=grad.dtype, device=grad.device)
        return None, None, None, None, AllToAllSingle.apply(ctx.group, room, ctx.sizes, ctx.out_sizes, grad)


class AllReduce(Function):
    """The reduction of all; the gradient is reduced in the same way."""

    @staticmethod
    def begin(ctx: Any, op: Any, group: Any, tensor: Tensor) -> tuple[Tensor, Any]:
        """Begins it: what it will give, and the work."""
        ctx.op, ctx.group = op, group
        result = tensor.clone(memory_format=_C.contiguous_format)
        work = collectives.all_reduce(result, op=op, group=group, async_op=True)
        return result, work

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        result, work = AllReduce.begin(ctx, *args)
        work.wait()
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, AllReduce.apply(ctx.op, ctx.group, grad)


def _check_sum(name: str, op: Any) -> None:
    if op != ReduceOp.SUM:
        raise RuntimeError(f"{name} backward only supports 'sum' reduction, got '{op.name.lower()}'")


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The values of one reach all."""
    return _Broadcast.apply(src, group, tensor)  # type: ignore[no-any-return]


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Everybody's tensor reaches one; the others get zeros."""
    return _Gather.apply(dst, group, tensor)  # type: ignore[no-any-return]


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Each of one's tensors reaches another."""
    return _Scatter.apply(src, group, *tensors)  # type: ignore[no-any-return]


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """One gets the reduction of all."""
    return _Reduce.apply(dst, op, group, tensor)  # type: ignore[no-any-return]


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """Everybody gets the reduction of one tensor of the lists."""
    return _ReduceScatter.apply(op, group, output, *input_list)  # type: ignore[no-any-return]


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Everybody's tensor reaches all."""
    return _AllGather.apply(group, tensor)  # type: ignore[no-any-return]


def _all_gather_base(output_tensor: Tensor, input_tensor: Tensor, group: Any = None) -> Tensor:
    """Everybody's tensor reaches all, one behind the other, in the shape of ``output_tensor``."""
    return AllGatherSingle.apply(group, input_tensor).view(output_tensor.shape)  # type: ignore[no-any-return]


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Tensor i of everybody reaches process i."""
    return _AllToAll.apply(group, output_tensor_list, *input_tensor_list)  # type: ignore[no-any-return]


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """Part i of everybody's tensor reaches process i."""
    return AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)  # type: ignore[no-any-return]


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """All get the reduction of all."""
    return AllReduce.apply(op, group, tensor)  # type: ignore[no-any-return]
