"""``torch.cond`` as the operator that handlers of operators compare with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._functions.rare import cond as cond


class _CondOp:
    """Runs one of two functions on the operands; ``torch.cond`` is what programs call."""

    def __call__(
        self,
        pred: Any,
        true_fn: Callable[..., Any],
        false_fn: Callable[..., Any],
        operands: Sequence[Any] = (),
    ) -> Any:
        return cond(pred, true_fn, false_fn, operands)

    def __str__(self) -> str:
        return "cond"


cond_op = _CondOp()
