"""Gradients that are sparse, and gradients of what makes and takes sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch

from .._C import Tensor
from .conversions import dense_of, sparse_mask, taken_at, to_layout
from .copies import as_layout_of
from .parts import (
    BLOCKS,
    COO,
    compressed_parts,
    layout_of,
    make_coo,
    values_of,
    with_values,
)
from .table import sparse


@sparse("embedding_sparse_backward")
def embedding(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """The rows that were looked up, each as often as it was."""
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    at = indices.reshape(-1).to(torch.int64)
    width = grad_output.shape[-1]
    rows = grad_output.reshape(at.shape[0], width)
    if padding_idx >= 0:
        kept = (at != padding_idx).nonzero()[:, 0]
        at, rows = at.index_select(0, kept), rows.index_select(0, kept)
    return make_coo(at.unsqueeze(0), rows, (num_weights, width), False)


@sparse("_gather_sparse_grad")
def gather(grad_output: Tensor, size: Sequence[int], dim: int, index: Tensor) -> Tensor:
    """The places that were taken, each as often as it was."""
    grad = grad_output.reshape(-1)
    if not size or index.dim() == 0:
        places = torch.zeros((len(size), grad.shape[0]), dtype=torch.int64, device=grad.device)
        places[:1] = index.reshape(-1)
        return make_coo(places, grad, size)
    axes = [torch.arange(length, device=index.device) for length in index.shape]
    grid = list(torch.meshgrid(*axes, indexing="ij"))
    grid[dim % len(size)] = index
    return make_coo(torch.stack([each.reshape(-1) for each in grid]), grad, size)


@sparse("_sparse_values_at")
def values_at(self: Tensor, indices: Tensor) -> Tensor:
    return taken_at(self, indices)


@sparse("_sparse_compressed_values_at")
def compressed_values_at(self: Tensor, like: Tensor) -> Tensor:
    if layout_of(self) == layout_of(like) and values_of(self).shape == values_of(like).shape:
        return values_of(self)
    return values_of(sparse_mask(self, like))


@sparse("_to_dense_backward")
def to_dense(grad_output: Tensor, self: Tensor, masked_grad: bool | None) -> Tensor:
    layout = layout_of(self)
    if layout == "strided":
        return dense_of(grad_output).to(self.dtype)
    if masked_grad is None or masked_grad:
        made = sparse_mask(grad_output, self)
    else:
        block = compressed_parts(self).block if layout in BLOCKS else ()
        made = to_layout(grad_output, layout, block)
    return made if made.dtype == self.dtype else made.to(self.dtype)


@sparse("_values_backward")
def values(grad_output: Tensor, self: Tensor) -> Tensor:
    return with_values(self, grad_output)


@sparse("_sparse_mask_backward")
def mask(grad_output: Tensor, mask: Tensor, layout: str) -> Tensor:
    if layout == "strided":
        return dense_of(sparse_mask(grad_output, mask))
    if layout == COO:
        return sparse_mask(grad_output, mask)
    return as_layout_of(grad_output, mask)
