"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .optimizer import Optimizer, check_flags, number, trainable, update_step


class SGD(Optimizer):
    """Plain descent, or with (Nesterov) momentum. ``weight_decay`` is added to the gradient."""

    def __init__(
        self,
        params: Any,
        lr: float | torch.Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | torch.Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if number(lr) < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if number(weight_decay) < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        # SGD keeps no counters on the device, so a tensor lr is as good as captured.
        check_flags(self, lr, foreach, fused, capturable=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)
            group.setdefault("maximize", False)
            group.setdefault("foreach", None)
            group.setdefault("differentiable", False)
            group.setdefault("fused", None)

    @update_step
    def step(self) -> None:
        for group in self.param_groups:
            lr = number(group["lr"])
            momentum = group["momentum"]
            weight_decay = number(group["weight_decay"])
            for param, gradient in trainable(group):
                if group["maximize"]:
                    gradient = -gradient
                if weight_decay != 0:
                    gradient = gradient.add(param, alpha=weight_decay)
                if momentum != 0:
                    gradient = self._with_momentum(param, gradient, group)
                param.add_(gradient, alpha=-lr)

    def _with_momentum(
        self, param: torch.Tensor, gradient: torch.Tensor, group: dict[str, Any]
    ) -> torch.Tensor:
        state = self.state[param]
        momentum = group["momentum"]
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = gradient.detach().clone()
        else:
            buffer.mul_(momentum).add_(gradient, alpha=1 - group["dampening"])
        return gradient.add(buffer, alpha=momentum) if group["nesterov"] else buffer
