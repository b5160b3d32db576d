"""Optimizers that step inside the backward pass.

Note [Steps in backward]
Each parameter has an optimizer of its own, which steps when the parameter's gradient is final and then drops it, so
that the gradients of a model are never all there at once. Under ``DistributedDataParallel`` a gradient is final when it
is averaged: the ``Reducer`` removes these hooks and steps itself, bucket by bucket.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._C import Tensor
from ...nn.modules.module import Module
from ...optim.optimizer import Optimizer
from ..reducer import step_in_backward

__all__: list[str] = []


def _apply_optimizer_in_backward(
    optimizer_class: type[Optimizer],
    params: Iterable[Tensor],
    optimizer_kwargs: dict[str, Any],
    register_hook: bool = True,
) -> None:
    """Gives each parameter an optimizer that steps in the backward pass. Note [Steps in backward].

    Several calls for a parameter give it several optimizers. Without ``register_hook`` somebody else lets them step.
    """
    for parameter in params:
        kept: Any = parameter
        if not hasattr(kept, "_in_backward_optimizers"):
            kept._in_backward_optimizers, kept._optimizer_classes, kept._optimizer_kwargs = [], [], []
            kept._in_backward_handles = []
        kept._in_backward_optimizers.append(optimizer_class([parameter], **optimizer_kwargs))
        kept._optimizer_classes.append(optimizer_class)
        kept._optimizer_kwargs.append(optimizer_kwargs)
        if register_hook and not kept._in_backward_handles:
            kept._in_backward_handles.append(parameter.register_post_accumulate_grad_hook(step_in_backward))


def _get_in_backward_optimizers(module: Module) -> list[Optimizer]:
    """The optimizers of a module's parameters, whose learning rates a scheduler may change."""
    return [
        optimizer
        for parameter in module.parameters()
        for optimizer in getattr(parameter, "_in_backward_optimizers", ())
    ]
