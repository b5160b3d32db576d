"""Copies of jagged tensors: on other devices, of other dtypes, dense, filled with something else."""

from __future__ import annotations

import copy
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.overrides import DisableTorchFunctionSubclass

from .nested_tensor import (
    NestedTensor,
    copy_of_sizes,
    nested_of,
    padded,
    values_of,
    without_holes,
    wrap,
    write,
)
from .rules import rule

_SHORT = (
    "float double half bfloat16 int long short char byte bool cfloat cdouble chalf type_as to cpu "
    "pin_memory _to_copy"
)


def _like(values: torch.Tensor, nested: NestedTensor) -> NestedTensor:
    offsets = copy_of_sizes(nested._offsets, values.device)
    assert offsets is not None
    return nested_of(values, offsets, copy_of_sizes(nested._lengths, values.device), nested._ragged_idx)


@rule(*_SHORT.split())
def convert(func: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    if not self.is_nested:  # dense.to(nested)
        return func(self, *(a._values if isinstance(a, NestedTensor) else a for a in args), **kwargs)
    if kwargs.get("layout", torch.jagged) is not torch.jagged:
        raise RuntimeError(
            f"a nested tensor in the jagged layout cannot become {kwargs['layout']}; use to_padded_tensor(padding)"
        )
    kwargs.pop("layout", None)
    args = tuple(a._values if isinstance(a, NestedTensor) else a for a in args)
    before = values_of(self)
    values = func(before, *args, **kwargs)
    return self if values is before or values is self._values else _like(values, self)


@rule("type")
def type_of(func: Any, self: NestedTensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    if dtype is None:
        return func(self._values)
    return convert(func, self, dtype, *args, **kwargs)


@rule("detach", "alias", "lift_fresh", "positive", "resolve_conj", "resolve_neg")
def same_memory(func: Any, self: NestedTensor) -> NestedTensor:
    if func.__name__.startswith("detach"):
        return NestedTensor(
            self._values.detach(), self._offsets, lengths=self._lengths, _ragged_idx=self._ragged_idx
        )
    return wrap(func(values_of(self)), self)


@rule(".data")
def data(func: Any, self: NestedTensor) -> NestedTensor:
    return same_memory(torch.Tensor.detach, self)


@rule("clone")
def clone(func: Any, self: NestedTensor, *, memory_format: Any = torch.preserve_format) -> NestedTensor:
    if self._lengths is not None and memory_format is torch.contiguous_format:
        self = without_holes(self)
    if torch.is_grad_enabled() and self.requires_grad:
        # A node of the table, whose gradient asks for no sizes; it comes back here below history.
        with DisableTorchFunctionSubclass():
            return func(self, memory_format=memory_format)  # type: ignore[no-any-return]
    return wrap(func(self._values, memory_format=memory_format), self)


@rule("contiguous")
def contiguous(func: Any, self: NestedTensor, memory_format: Any = torch.contiguous_format) -> NestedTensor:
    if self.is_contiguous(memory_format=memory_format):
        return self
    self = without_holes(self)
    return wrap(values_of(self).contiguous(memory_format=memory_format), self)


_MADE = "zeros_like ones_like empty_like full_like rand_like randn_like randint_like bernoulli"


@rule(*_MADE.split())
def made_like(func: Any, self: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
    layout = kwargs.pop("layout", None)
    if layout not in (None, torch.jagged):
        raise RuntimeError(f"{func.__name__}() of a jagged tensor makes a jagged one, got layout={layout}")
    wanted = kwargs.pop("requires_grad", False)
    made = _like(func(values_of(self), *args, **kwargs), self)
    return made.requires_grad_() if wanted else made


@rule("new_tensor", "new_zeros", "new_ones", "new_full", "new_empty", "new_empty_strided")
def new(func: Any, self: NestedTensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    return func(self._values, *args, **kwargs)  # type: ignore[no-any-return]


@rule("to_padded_tensor", "nested_to_padded_tensor")
def to_padded_tensor(func: Any, self: NestedTensor, padding: float, output_size: Any = None) -> torch.Tensor:
    if self._lengths is not None:
        raise RuntimeError(
            "to_padded_tensor(): not supported for nested tensors with holes; use contiguous() first"
        )
    made = padded(self, padding)
    return made if output_size is None else grown(made, padding, output_size)


def grown(made: torch.Tensor, padding: float, output_size: Any) -> torch.Tensor:
    """A padded tensor with more padding behind it."""
    short = [want - have for want, have in zip(output_size, made.shape, strict=False)]
    if len(short) != made.dim() or min(short) < 0:
        raise RuntimeError(
            f"Value in output_size is less than NestedTensor padded size: got {tuple(output_size)}, wanted at least "
            f"{tuple(made.shape)}"
        )
    filled = torch.full(tuple(output_size), padding, dtype=made.dtype, device=made.device)
    filled[tuple(slice(0, n) for n in made.shape)] = made
    return filled


@rule("to_dense", "to_sparse")
def to_dense(func: Any, self: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(f"{func.__name__} does not support layout Jagged; use to_padded_tensor(padding)")


@rule("copy_")
def copy_(func: Any, self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not (self.is_nested and src.is_nested):
        raise RuntimeError(
            "copy_ only supports Nested Tensors that have same size and offsets; one of them is dense"
        )
    if src._values.shape != self._values.shape:
        raise RuntimeError(
            f"copy_ only supports Nested Tensors that have same size and offsets; got {src.shape} for {self.shape}"
        )
    return write(self, values_of(src))


@rule("__deepcopy__")
def deepcopy(func: Any, self: NestedTensor, memo: dict[int, Any]) -> NestedTensor:
    if id(self) in memo:
        return memo[id(self)]  # type: ignore[no-any-return]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment"
        )
    values, offsets, lengths = copy.deepcopy((self._values, self._offsets, self._lengths), memo)
    made = NestedTensor(values, offsets, lengths=lengths, _ragged_idx=self._ragged_idx)
    made.requires_grad_(self.requires_grad)
    memo[id(self)] = made
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    return made


@rule("share_memory_")
def share_memory_(func: Any, self: NestedTensor) -> NestedTensor:
    self._values.share_memory_()
    self._offsets.share_memory_()
    return self


@rule("is_shared")
def is_shared(func: Any, self: NestedTensor) -> bool:
    return self._values.is_shared()


@rule("record_stream")
def record_stream(func: Any, self: NestedTensor, stream: Any) -> None:
    self._values.record_stream(stream)
    self._offsets.record_stream(stream)
