"""L-BFGS: a quasi-Newton method that knows the curvature from the last steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from ._line_search import strong_wolfe
from ._options import DeclaredOptimizer, Rate, declared, learning_rate, option
from .optimizer import number

__all__ = ["LBFGS"]


@declared()
class LBFGS(DeclaredOptimizer):
    """``step`` needs a closure, which it calls many times. All parameters are one group."""

    lr: Rate = option(default=1, check=learning_rate)
    max_iter: int = option(default=20, meaning="the most iterations of a step")
    max_eval: int | None = option(
        default=None, meaning="the most calls of the closure; by default a quarter more than iterations"
    )
    tolerance_grad: float = option(default=1e-7, meaning="stops where the gradient is as small")
    tolerance_change: float = option(
        default=1e-9, meaning="stops where the loss or the parameters change as little"
    )
    history_size: int = option(default=100, meaning="how many steps the curvature is known from")
    line_search_fn: str | None = option(default=None, meaning='None (steps of ``lr``) or "strong_wolfe"')

    def _check_options(self, options: dict[str, Any]) -> None:
        if options["max_eval"] is None:
            options["max_eval"] = options["max_iter"] * 5 // 4

    def _prepare(self) -> None:
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._numel_cache: int | None = None

    def _numel(self) -> int:
        if self._numel_cache is None:
            self._numel_cache = sum(p.numel() * (2 if p.is_complex() else 1) for p in self._params)
        return self._numel_cache

    def _gather_flat_grad(self) -> torch.Tensor:
        """All gradients as one vector; zeros where there is none."""
        parts = []
        for param in self._params:
            gradient = param.new_zeros(param.numel()) if param.grad is None else param.grad.reshape(-1)
            parts.append(torch.view_as_real(gradient).reshape(-1) if gradient.is_complex() else gradient)
        return torch.cat(parts, 0)

    def _add_grad(self, step_size: Any, direction: torch.Tensor) -> None:
        offset = 0
        for param in self._params:
            values = torch.view_as_real(param) if param.is_complex() else param
            count = values.numel()
            values.add_(direction[offset : offset + count].view_as(values), alpha=step_size)
            offset += count

    def _clone_param(self) -> list[torch.Tensor]:
        return [param.clone(memory_format=torch.contiguous_format) for param in self._params]

    def _set_param(self, params_data: list[torch.Tensor]) -> None:
        for param, values in zip(self._params, params_data, strict=True):
            param.copy_(values)

    def _directional_evaluate(
        self, closure: Callable[[], Any], start: list[torch.Tensor], t: Any, direction: torch.Tensor
    ) -> tuple[float, torch.Tensor]:
        """Loss and gradient at ``start + t * direction``; the parameters are put back."""
        self._add_grad(t, direction)
        loss = float(closure())
        gradient = self._gather_flat_grad()
        self._set_param(start)
        return loss, gradient

    @torch.no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Minimises until a tolerance or a limit of the options is met; returns the first loss."""
        run_closure = torch.enable_grad()(closure)
        group = self.param_groups[0]
        lr = number(group["lr"])
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first_loss = run_closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._gather_flat_grad()
        if gradient.abs().max() <= group["tolerance_grad"]:
            return first_loss

        direction, t = state.get("d"), state.get("t")
        steps: list[torch.Tensor] = state.get("old_stps", [])
        changes: list[torch.Tensor] = state.get("old_dirs", [])
        curvatures: list[torch.Tensor] = state.get("ro", [])
        scale = state.get("H_diag")
        previous, previous_loss = state.get("prev_flat_grad"), state.get("prev_loss")

        iterations = 0
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction, scale = gradient.neg(), 1
                steps, changes, curvatures = [], [], []
            else:
                change, moved = gradient.sub(previous), direction.mul(t)
                curvature = change.dot(moved)
                if curvature > 1e-10:  # otherwise the pair would make the estimate of curvature worse
                    if len(changes) == group["history_size"]:
                        changes.pop(0), steps.pop(0), curvatures.pop(0)
                    changes.append(change)
                    steps.append(moved)
                    curvatures.append(1.0 / curvature)
                    scale = curvature / change.dot(change)
                factors = state.setdefault("al", [None] * group["history_size"])
                direction = _two_loops(gradient, changes, steps, curvatures, scale, factors)
            previous = (
                gradient.clone(memory_format=torch.contiguous_format)
                if previous is None
                else previous.copy_(gradient)
            )
            previous_loss = loss

            t = min(1.0, 1.0 / gradient.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = gradient.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            made = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = self._clone_param()
                loss, gradient, t, made = strong_wolfe(
                    lambda at: self._directional_evaluate(run_closure, start, at, direction),  # noqa: B023
                    t,
                    direction,
                    loss,
                    gradient,
                    slope,
                )
                self._add_grad(t, direction)
                small = gradient.abs().max() <= group["tolerance_grad"]
            else:
                self._add_grad(t, direction)
                small = torch.tensor(False)
                if iterations != group["max_iter"]:  # the last value would not be used
                    loss = float(run_closure())
                    gradient = self._gather_flat_grad()
                    small = gradient.abs().max() <= group["tolerance_grad"]
                    made = 1
            evaluations += made
            state["func_evals"] += made

            if iterations == group["max_iter"] or evaluations >= group["max_eval"] or small:
                break
            if direction.mul(t).abs().max() <= group["tolerance_change"]:
                break
            if abs(loss - previous_loss) < group["tolerance_change"]:
                break

        state["d"], state["t"] = direction, t
        state["old_dirs"], state["old_stps"], state["ro"] = changes, steps, curvatures
        state["H_diag"] = scale
        state["prev_flat_grad"], state["prev_loss"] = previous, previous_loss
        return first_loss


def _two_loops(
    gradient: torch.Tensor,
    changes: list[torch.Tensor],
    steps: list[torch.Tensor],
    curvatures: list[torch.Tensor],
    scale: Any,
    factors: list[Any],
) -> torch.Tensor:
    """The gradient times the inverse Hessian that the pairs of steps and changes imply, downhill.

    ``factors`` receives the share of each pair; it is part of PyTorch's state.
    """
    direction = gradient.neg()
    for i in reversed(range(len(changes))):
        factors[i] = steps[i].dot(direction) * curvatures[i]
        direction.add_(changes[i], alpha=-factors[i].item())
    direction = torch.mul(direction, scale)
    for i, (change, step) in enumerate(zip(changes, steps, strict=True)):
        share = change.dot(direction) * curvatures[i]
        direction.add_(step, alpha=(factors[i] - share).item())
    return direction
