"""SparseAdam's name: there are no sparse tensors here."""

from __future__ import annotations

from typing import Any

from ._options import (
    DeclaredOptimizer,
    Rate,
    declared,
    each_below_one,
    learning_rate,
    not_negative,
    option,
    switch,
)


@declared()
class SparseAdam(DeclaredOptimizer):
    """Adam for sparse gradients, which no operator here makes."""

    lr: Rate = option(default=1e-3, check=learning_rate)
    betas: tuple[float, float] = option(default=(0.9, 0.999), check=each_below_one)
    eps: float = option(default=1e-8, check=not_negative)
    maximize: bool = switch(default=False)

    def _check_options(self, options: dict[str, Any]) -> None:
        raise NotImplementedError(
            "SparseAdam updates sparse gradients, and sparse tensors are not supported; use optim.Adam, and "
            "embeddings with sparse=False"
        )
