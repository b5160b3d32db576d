"""Embeddings."""

from __future__ import annotations

from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


def _padding_row(padding_idx: int | None, rows: int, name: str) -> int | None:
    """``padding_idx`` counted from the start."""
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"{name} must be within num_embeddings")
    return padding_idx % rows


class _Table(Module):
    """A weight with one row per index; the row of ``padding_idx`` starts as zeros and gets no gradient."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool
    weight: Parameter

    def _describe(self, size: tuple[int, int], **options: Any) -> None:
        self.num_embeddings, self.embedding_dim = size
        for name, value in options.items():
            setattr(self, name, value)

    def _described(self, **usual: Any) -> str:
        """The size, and what is not as usual."""
        options = ((name, getattr(self, name), value) for name, value in usual.items())
        unusual = "".join(f", {name}={value!r}" for name, value, default in options if value != default)
        return f"{self.num_embeddings}, {self.embedding_dim}{unusual}"

    def _make_weight(self, given: Tensor | None, frozen: bool, device: Any, dtype: Any) -> None:
        shape = [self.num_embeddings, self.embedding_dim]
        if given is None:
            data = torch.empty(shape, device=device, dtype=dtype)
            self.weight = Parameter(data, requires_grad=not frozen)
            self.reset_parameters()
            return
        if list(given.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(given, requires_grad=not frozen)

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with torch.no_grad():
                self.weight[self.padding_idx].fill_(0)


def _size_of(table: Tensor) -> tuple[int, int]:
    if table.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    return table.size(0), table.size(1)


class Embedding(_Table):
    """The rows of a learned table at the given indices."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._describe(
            (num_embeddings, embedding_dim),
            padding_idx=_padding_row(padding_idx, num_embeddings, "Padding_idx"),
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )
        self._make_weight(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        limit = (self.max_norm, self.norm_type)
        return F.embedding(input, self.weight, self.padding_idx, *limit, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        return self._described(
            padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, sparse=False
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """An embedding whose table is ``embeddings``; frozen, it is not trained."""
        rows, width = _size_of(embeddings)
        lookup: dict[str, Any] = {
            "max_norm": max_norm,
            "norm_type": norm_type,
            "scale_grad_by_freq": scale_grad_by_freq,
        }
        table: dict[str, Any] = {"_weight": embeddings, "_freeze": freeze, "padding_idx": padding_idx}
        return cls(rows, width, **table, **lookup, sparse=sparse)


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows, without keeping the rows."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._describe(
            (num_embeddings, embedding_dim),
            padding_idx=_padding_row(padding_idx, num_embeddings, "padding_idx"),
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )
        self.mode, self.include_last_offset = mode, include_last_offset
        self._make_weight(_weight, False, device, dtype)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        lookup = (self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse)
        bags = (per_sample_weights, self.include_last_offset, self.padding_idx)
        return F.embedding_bag(input, self.weight, offsets, *lookup, *bags)

    def extra_repr(self) -> str:
        # `mode` is never None, so it is always shown.
        return self._described(
            max_norm=None, norm_type=2, scale_grad_by_freq=False, mode=None, padding_idx=None
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """A bag whose table is ``embeddings``; frozen, it is not trained."""
        rows, width = _size_of(embeddings)
        lookup: dict[str, Any] = {
            "max_norm": max_norm,
            "norm_type": norm_type,
            "scale_grad_by_freq": scale_grad_by_freq,
        }
        table: dict[str, Any] = {"_weight": embeddings, "padding_idx": padding_idx}
        bags: dict[str, Any] = {"mode": mode, "sparse": sparse, "include_last_offset": include_last_offset}
        made = cls(rows, width, **table, **lookup, **bags)
        made.weight.requires_grad = not freeze
        return made
