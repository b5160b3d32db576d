"""Steps of an optimizer beside the backward pass: a parameter is updated as soon as its bucket is averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...._C import Tensor
from ....futures import Future
from ...reducer import GradBucket

__all__: list[str] = []


class _OptimizerHookState:
    """What updates one parameter (``step_param(parameter, gradient)``), and which are updated; None: all."""

    def __init__(self, functional_optim: Any, params: Iterable[Tensor] | None = None) -> None:
        if not hasattr(functional_optim, "step_param"):
            raise ValueError(f"Class {type(functional_optim)} must implement method step_param.")
        self.functional_optimizer = functional_optim
        self.params_to_optimize = None if params is None else set(params)


def _hook_then_optimizer(
    hook: Callable[[Any, GradBucket], Future[Any]], optimizer_state: _OptimizerHookState
) -> Callable[[Any, GradBucket], Future[Any]]:
    """Another hook, and the updates after it."""

    def hook_then_optimizer(state: Any, bucket: GradBucket) -> Future[Any]:
        def updated(done: Future[Any]) -> Tensor:
            value, buffer = done.value(), bucket.buffer()
            value = value[0] if isinstance(value, (list, tuple)) else value
            if value.data_ptr() != buffer.data_ptr():
                buffer.copy_(value.view(-1))
            wanted = optimizer_state.params_to_optimize
            for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
                if wanted is None or parameter in wanted:
                    optimizer_state.functional_optimizer.step_param(parameter, gradient)
            return buffer

        return hook(state, bucket).then(updated)

    return hook_then_optimizer
