"""How values of several processes become one."""

from __future__ import annotations

import warnings
from enum import IntEnum
from typing import Any

from .. import _C
from .._C import Tensor


class RedOpType(IntEnum):
    """The kinds of reduction."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class ReduceOp:
    """A reduction; PREMUL_SUM also has the factor that each value is multiplied with first."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = (
        RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX,
    )  # fmt: skip
    BAND, BOR, BXOR, PREMUL_SUM, UNUSED = (
        RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM, RedOpType.UNUSED,
    )  # fmt: skip

    def __init__(self, op: Any, factor: float | Tensor | None = None) -> None:
        self.op, self.factor = RedOpType(op), factor

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, ReduceOp):
            return self.op == other.op and self.factor is other.factor
        return isinstance(other, RedOpType) and self.op == other

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return str(self.op) if self.factor is None else f"{self.op} of values times {self.factor}"


def as_reduce_op(op: Any) -> ReduceOp:
    """What users give: a kind or a ReduceOp."""
    if isinstance(op, ReduceOp):
        return op
    if isinstance(op, RedOpType):
        if op is RedOpType.PREMUL_SUM:
            raise TypeError(
                "PREMUL_SUM needs its factor; make it with torch.distributed._make_nccl_premul_sum(factor)"
            )
        return ReduceOp(op)
    raise TypeError(f"expected a torch.distributed.ReduceOp, got {op!r} of type {type(op).__name__}")


def _make_nccl_premul_sum(factor: float | Tensor) -> ReduceOp:
    """The sum of values that are multiplied with a factor first."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


class _reduce_op:
    """The older name of the kinds of reduction."""

    def __getattr__(self, name: str) -> RedOpType:
        if name not in ("SUM", "PRODUCT", "MIN", "MAX"):
            raise AttributeError(f"torch.distributed.reduce_op has no {name}; use torch.distributed.ReduceOp")
        warnings.warn(
            "`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead",
            FutureWarning,
            stacklevel=2,
        )
        return RedOpType[name]


reduce_op = _reduce_op()

_BITWISE = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)
_OF_COMPLEX = (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM)


def check_dtype(name: str, op: ReduceOp, tensor: Tensor) -> None:
    """Refuses reductions that a dtype has not."""
    if tensor.is_complex() and op.op not in _OF_COMPLEX:
        raise ValueError(f"{name} does not support {op.op} on complex tensors")
    if op.op is RedOpType.AVG and tensor.dtype is _C.bool:
        raise RuntimeError(f"{name}: bool has no AVG; convert the tensor to a dtype of numbers")
    if op.op in _BITWISE and (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError(f"Cannot use ReduceOp.{op.op.name} with non-integral dtype {tensor.dtype}")
