"""How the loss of a linear layer may be computed."""

from __future__ import annotations

from dataclasses import dataclass

import mindtorch_v2 as torch

__all__ = ["LinearCrossEntropyOptions"]


@dataclass
class LinearCrossEntropyOptions:
    """How ``linear_cross_entropy`` may save memory by working through the batch in pieces. The result does
    not depend on it; here the batch is always worked through at once.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: torch.dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.batch_chunk_size is not None and self.batch_chunk_size <= 0:
            raise ValueError(f"batch_chunk_size must be positive int or None, got {self.batch_chunk_size}")
