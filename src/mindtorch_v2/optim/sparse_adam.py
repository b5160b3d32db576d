"""SparseAdam's name: there are no sparse tensors here."""

from __future__ import annotations

from typing import Any

from .optimizer import Optimizer, ParamsT


class SparseAdam(Optimizer):
    """Adam for sparse gradients, which no operator here makes."""

    def __init__(self, params: ParamsT, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "SparseAdam updates sparse gradients, and sparse tensors are not supported; use optim.Adam, and "
            "embeddings with sparse=False"
        )
