"""``torch.nested``: batches of tensors whose sizes differ. Note [Nested tensors] in _internal/nested_tensor.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .._absent import names_of
from .._dynamo.decorators import _DimRange
from .._serialization import restricted
from ._internal import making
from ._internal.nested_tensor import NestedTensor, _rebuild_njt, nested_of

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> torch.Tensor:
    """A nested tensor of copies of tensors or lists, without their history."""
    made = making.from_list("nested_tensor", tensor_list, dtype, layout, device, copy=True)
    if pin_memory:
        made = made.pin_memory()
    return made.requires_grad_(requires_grad)


def as_nested_tensor(
    ts: Any, dtype: torch.dtype | None = None, device: Any = None, layout: torch.layout | None = None
) -> torch.Tensor:
    """A nested tensor of tensors, or of the entries of one tensor; gradients flow to them."""
    if not isinstance(ts, (torch.Tensor, list, tuple)):
        raise TypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors, got "
            f"{type(ts).__name__}"
        )
    if isinstance(ts, (list, tuple)):
        return making.from_list("as_nested_tensor", ts, dtype, layout, device, copy=False)
    if ts.is_nested:
        if layout is not (None if ts.layout is torch.strided else torch.jagged) and layout is not ts.layout:
            raise RuntimeError(
                "as_nested_tensor(): Converting between nested tensor layouts is not supported"
            )
        return ts.to(device=device or ts.device, dtype=dtype or ts.dtype)
    if ts.dim() < 2:
        raise RuntimeError(
            f"as_nested_tensor(): Expected tensor argument to have dim() >= 2: a batch of tensors, got {ts.dim()}"
        )
    return making.from_dense(ts, dtype, layout, device)


def nested_tensor_from_jagged(
    values: torch.Tensor,
    offsets: torch.Tensor | None = None,
    lengths: torch.Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> NestedTensor:
    """A nested tensor over values in which sequences lie one after the other; gradients flow to them.

    ``offsets`` say where each begins and the last ends; ``lengths`` beside them, that some end earlier; ``lengths``
    alone, how long each is. The sequences lie along dimension ``jagged_dim`` of the result, 1 if nothing is said.
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]), None
    made = nested_of(values, offsets, lengths, 1 if jagged_dim is None else jagged_dim)
    for name, value in (("min_seqlen", min_seqlen), ("max_seqlen", max_seqlen)):
        if value is not None:
            made._size.known[name] = made._metadata_cache[name] = int(value)
    return made


def narrow(
    tensor: torch.Tensor,
    dim: int,
    start: int | torch.Tensor,
    length: int | torch.Tensor,
    layout: torch.layout = torch.strided,
) -> torch.Tensor:
    """A nested tensor of parts of a tensor's entries, along dimension 1: from ``start``, so many steps."""
    if not isinstance(start, (int, torch.Tensor)):
        raise RuntimeError(f"start must be an integer or a tensor, got {type(start).__name__}")
    if not isinstance(length, (int, torch.Tensor)):
        raise RuntimeError(f"length must be an integer or a tensor, got {type(length).__name__}")
    if layout is torch.strided:
        if isinstance(start, torch.Tensor) or isinstance(length, torch.Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return making.from_list(
            "narrow", tensor.narrow(dim, start, length).unbind(0), None, layout, None, copy=False
        )
    if layout is not torch.jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested narrow: {layout}")
    return making.narrowed(tensor, dim, start, length)


def masked_select(tensor: torch.Tensor, mask: torch.Tensor) -> NestedTensor:
    """A nested tensor of the elements that a mask chooses from each row of a tensor of two dimensions."""
    return making.selected(tensor, mask)


def to_padded_tensor(
    input: torch.Tensor, padding: float, output_size: Sequence[int] | None = None
) -> torch.Tensor:
    """A dense tensor of the entries of a nested one, with ``padding`` behind the shorter ones."""
    return input.to_padded_tensor(padding, output_size)


restricted.of_nested |= {
    "torch.nested._internal.nested_tensor.NestedTensor": NestedTensor,
    "torch.nested._internal.nested_tensor._rebuild_njt": _rebuild_njt,
    "torch._dynamo.decorators._DimRange": _DimRange,
}

__getattr__ = names_of(__name__)
