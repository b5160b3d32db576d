"""Adam: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .optimizer import Optimizer, check_flags, number, trainable, update_step


class Adam(Optimizer):
    """``decoupled_weight_decay`` shrinks the parameters directly (AdamW) instead of adding to the
    gradient.
    """

    def __init__(
        self,
        params: Any,
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= number(lr):
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for index, beta in enumerate(betas):
            if not 0.0 <= number(beta) < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if isinstance(betas[0], torch.Tensor) != isinstance(betas[1], torch.Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_flags(self, lr, foreach, fused, capturable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)
            group.setdefault("maximize", False)
            group.setdefault("foreach", None)
            group.setdefault("capturable", False)
            group.setdefault("differentiable", False)
            group.setdefault("fused", None)
            group.setdefault("decoupled_weight_decay", False)
            for param in group["params"]:
                kept = self.state.get(param)
                if kept and not isinstance(kept["step"], torch.Tensor):  # a number in old files
                    kept["step"] = torch.tensor(float(kept["step"]), dtype=torch.float32, device="cpu")

    def _state_of(self, param: torch.Tensor, amsgrad: bool) -> dict[str, Any]:
        state: dict[str, Any] = self.state[param]
        if not state:
            # A tensor because PyTorch's state has one; on the host, where it is read at every step.
            state["step"] = torch.tensor(0.0, dtype=torch.float32, device="cpu")
            state["exp_avg"] = torch.zeros_like(param, memory_format=torch.preserve_format)
            state["exp_avg_sq"] = torch.zeros_like(param, memory_format=torch.preserve_format)
            if amsgrad:
                state["max_exp_avg_sq"] = torch.zeros_like(param, memory_format=torch.preserve_format)
        return state

    @update_step
    def step(self) -> None:
        for group in self.param_groups:
            if group["capturable"]:
                raise RuntimeError(
                    "Adam: capturable=True needs a device that captures graphs, which none here does; "
                    "use capturable=False"
                )
            for param, gradient in trainable(group):
                if param.is_complex():
                    raise RuntimeError(
                        f"Adam: parameters must be real, got {param.dtype}; keep the real and the "
                        "imaginary part as "
                        "two parameters"
                    )
                self._update(param, gradient, group)

    def _update(self, param: torch.Tensor, gradient: torch.Tensor, group: dict[str, Any]) -> None:
        state = self._state_of(param, group["amsgrad"])
        lr = number(group["lr"])
        beta1, beta2 = (number(beta) for beta in group["betas"])
        weight_decay = group["weight_decay"]
        if group["maximize"]:
            gradient = -gradient
        if weight_decay != 0:
            if group["decoupled_weight_decay"]:
                param.mul_(1 - lr * weight_decay)
            else:
                gradient = gradient.add(param, alpha=weight_decay)

        state["step"] += 1
        step = state["step"].item()
        average, square_average = state["exp_avg"], state["exp_avg_sq"]
        average.add_(gradient - average, alpha=1 - beta1)
        square_average.mul_(beta2).add_(gradient * gradient, alpha=1 - beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            square_average = largest.copy_(torch.maximum(largest, square_average))

        # Both averages start at zero; dividing by these takes that bias out.
        correction1 = 1 - beta1**step
        correction2 = 1 - beta2**step
        spread = (square_average.sqrt() / correction2**0.5).add_(group["eps"])
        param.add_(average / spread, alpha=-(lr / correction1))
