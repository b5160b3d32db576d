"""Embeddings in terms of other operators."""

from __future__ import annotations

import math

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor


def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """A 1 at each index along a new last dimension, 0 elsewhere."""
    if self.dtype != torch.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return torch.empty((*self.shape, num_classes), dtype=torch.int64, device=self.device)
    values = self if num_classes == -1 else torch._C._functorch._of_all_slices(self)
    if values.min().item() < 0:
        raise RuntimeError("Class values must be non-negative.")
    highest = int(values.max().item())
    if num_classes == -1:
        num_classes = highest + 1
    elif num_classes <= highest:
        raise RuntimeError(
            "num_classes should be positive"
            if num_classes < 1
            else "Class values must be smaller than num_classes."
        )
    flat = self.new_zeros((*self.shape, num_classes))
    return flat.scatter_(-1, self.unsqueeze(-1), 1)


def embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows that are looked up down to max_norm where their norm is larger."""
    if indices.dtype not in (torch.int32, torch.int64):
        raise RuntimeError(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{indices.type()} instead (while checking arguments for embedding_renorm_)"
        )
    if self.is_meta:
        return self
    with torch.no_grad():
        rows = torch.unique(indices.reshape(-1))
        if rows.numel() and int(rows[-1]) >= self.shape[0]:
            raise IndexError(
                f"select(): index {int(rows[-1])} out of range for tensor of size {list(self.shape)} at dimension 0"
            )
        if rows.numel() and int(rows[0]) < 0:
            raise IndexError("index out of range in self")
        found = self.index_select(0, rows)
        size = found.abs()
        if norm_type == math.inf:
            norms = size.amax(1, keepdim=True)
        else:
            norms = (size**norm_type).sum(1, keepdim=True) ** (1.0 / norm_type)
        scale = torch.where(norms > max_norm, max_norm / (norms + 1e-7), torch.ones_like(norms))
        self.index_copy_(0, rows.long(), found * scale)
    return self
