"""Matrix products."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .nested_tensor import NestedTensor, from_padded, padded, values_of, wrap
from .rules import refuse, rule


def _unsupported(name: str, a: Any, b: Any) -> RuntimeError:
    return RuntimeError(
        f"{name}(): not supported between inputs of shapes {tuple(a.shape)} and {tuple(b.shape)}; the result would be "
        "ragged in two dimensions, or the sequences differ"
    )


@rule("linear")
def linear(func: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    if not isinstance(input, NestedTensor) or isinstance(weight, NestedTensor):
        raise RuntimeError("linear(): the input may be nested, weight and bias are dense")
    if input._ragged_idx == input.dim() - 1:
        raise ValueError(
            f"linear(): the last dimension of the input is ragged, {tuple(input.shape)}; transpose it to the "
            "middle first"
        )
    return wrap(func(values_of(input), weight, bias), input)


@rule("bilinear")
def bilinear(func: Any, one: Any, other: Any, weight: Any, bias: Any = None) -> Any:
    if not (isinstance(one, NestedTensor) and isinstance(other, NestedTensor)) or one._size != other._size:
        raise RuntimeError("bilinear(): both inputs must be nested tensors of the same sequences")
    return wrap(func(values_of(one), values_of(other), weight, bias), one)


@rule("bmm")
def bmm(func: Any, self: Any, mat2: Any, **kwargs: Any) -> Any:
    if self.dim() != 3 or mat2.dim() != 3:
        raise ValueError(
            f"bmm(): expected batches of matrices, got shapes {tuple(self.shape)} and {tuple(mat2.shape)}"
        )
    return matmul(func, self, mat2)


@rule("matmul", "__matmul__", "__rmatmul__")
def matmul(func: Any, self: Any, other: Any) -> Any:
    if func.__name__ == "__rmatmul__":
        self, other = other, self
    name = func.__name__.partition(".")[0].strip("_")
    if isinstance(self, NestedTensor) and isinstance(other, NestedTensor):
        return _both(name, self, other)
    if isinstance(self, NestedTensor):
        return _nested_first(name, self, other)
    return _nested_second(name, self, other)


def _both(name: str, a: NestedTensor, b: NestedTensor) -> Any:
    if a._size != b._size or a.dim() != b.dim():
        raise _unsupported(name, a, b)
    last = a.dim() - 1
    if a._ragged_idx == b._ragged_idx < last - 1:  # a matrix for each step
        return wrap(torch.matmul(values_of(a), values_of(b)), a)
    if a._ragged_idx == last and b._ragged_idx == last - 1:  # the steps are summed over
        return torch.matmul(padded(a, 0), padded(b, 0))
    raise _unsupported(name, a, b)


def _nested_first(name: str, a: NestedTensor, b: torch.Tensor) -> Any:
    last = a.dim() - 1
    if b.dim() < 2 or a._ragged_idx == last:
        raise _unsupported(name, a, b)
    if b.dim() == 2:
        return wrap(torch.matmul(values_of(a), b), a)
    if b.dim() != a.dim() or b.shape[0] not in (1, a._offsets.shape[0] - 1):
        raise _unsupported(name, a, b)
    if b.shape[0] == 1 and (a._ragged_idx == last - 1 or b.shape[a._ragged_idx] == 1):
        return wrap(torch.matmul(values_of(a), b.squeeze(0)), a)
    if a._ragged_idx == last - 1 or b.shape[a._ragged_idx] == 1:
        return from_padded(torch.matmul(padded(a, 0), b), a)
    raise _unsupported(name, a, b)


def _nested_second(name: str, a: torch.Tensor, b: NestedTensor) -> Any:
    last = b.dim() - 1
    if a.dim() < 2 or b._ragged_idx == last - 1:
        raise _unsupported(name, a, b)
    if a.dim() == 2:
        return wrap(torch.matmul(a, values_of(b)), b)
    if a.dim() != b.dim() or a.shape[0] not in (1, b._offsets.shape[0] - 1):
        raise _unsupported(name, a, b)
    if b._ragged_idx == last or a.shape[b._ragged_idx] == 1:
        return from_padded(torch.matmul(a, padded(b, 0)), b)
    raise _unsupported(name, a, b)


@rule("baddbmm", "addmm", "mm", "mv", "dot", "addbmm", "einsum", "tensordot", "inner", "outer")
def others(func: Any, *args: Any, **kwargs: Any) -> Any:
    raise refuse(func.__name__.partition(".")[0])
