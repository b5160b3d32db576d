"""Losses between values, element by element: regression, probabilities and likelihoods."""

from __future__ import annotations

import math
import warnings

import mindtorch_v2 as torch

from ...._C import _nn
from ....amp.autocast_mode import in_float32
from .reduction import reduce_values, reduction_name, reduction_number, type_title

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "gaussian_nll_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
]


def _warn_of_sizes(input: torch.Tensor, target: torch.Tensor) -> None:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
            "This will likely lead to incorrect results due to broadcasting. Please ensure they have the "
            "same size.",
            stacklevel=3,
        )


def _weighted(
    values: torch.Tensor, input: torch.Tensor, weight: torch.Tensor | None, reduction: str
) -> torch.Tensor:
    """Reduced; with weights, "mean" divides by their sum."""
    if weight is None:
        return reduce_values(values, reduction)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = values * weight
    if reduction == "mean":
        return weighted.sum() / weight.sum()
    return reduce_values(weighted, reduction)


def mse_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """The squared differences."""
    _warn_of_sizes(input, target)
    reduction = reduction_name(size_average, reduce, reduction)
    if weight is None:
        return _nn.mse_loss(input, target, reduction_number(reduction))
    return _weighted(_nn.mse_loss(input, target, 0), input, weight, reduction)


def l1_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """The absolute differences."""
    input, target = in_float32(input, target)
    _warn_of_sizes(input, target)
    reduction = reduction_name(size_average, reduce, reduction)
    return _weighted((input - target).abs(), input, weight, reduction)


def smooth_l1_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> torch.Tensor:
    """Squared below ``beta``, absolute above it."""
    _warn_of_sizes(input, target)
    number = reduction_number(reduction_name(size_average, reduce, reduction))
    return _nn.smooth_l1_loss(input, target, number, beta)


def huber_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """Squared below ``delta``, with the slope ``delta`` above it."""
    _warn_of_sizes(input, target)
    if weight is None:
        return _nn.huber_loss(input, target, reduction_number(reduction), delta)
    return _weighted(_nn.huber_loss(input, target, 0, delta), input, weight, reduction)


def soft_margin_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """The logistic loss of scores with targets 1 and -1."""
    input, target = in_float32(input, target)
    reduction = reduction_name(size_average, reduce, reduction)
    return reduce_values((input * -target).exp().log1p(), reduction)


def binary_cross_entropy(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """The cross entropy of probabilities; their logarithms stop at -100."""
    reduction = reduction_name(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    input, target = in_float32(input, target)
    if target.dtype != input.dtype:
        raise RuntimeError(f"Found dtype {type_title(target)} but expected {type_title(input)}")
    for name, values in (("input", input), ("target", target)):
        if not values.is_meta and bool(torch._C._functorch._of_all_slices((values < 0) | (values > 1)).any()):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    return _nn.binary_cross_entropy(input, target, weight, reduction_number(reduction))


def binary_cross_entropy_with_logits(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """The cross entropy of the sigmoid of the scores."""
    input, target = in_float32(input, target)
    reduction = reduction_name(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return torch.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight, reduction_number(reduction)
    )


def kl_div(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> torch.Tensor:
    """The divergence of probabilities (or their logarithms) from log-probabilities."""
    input, target = in_float32(input, target)
    if any(not (t.is_floating_point() or t.is_complex()) for t in (input, target)):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    reduction = reduction_name(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    elif reduction != "batchmean":
        reduction_number(reduction)
    if log_target:
        values = target.exp() * (target - input)
    else:
        # 0 * log(0) counts nothing, in the gradient too.
        zero = target == 0
        values = (target * target.masked_fill(zero, 1).log()).masked_fill(zero, 0) - target * input
    if reduction == "batchmean":
        total = values.sum()
        return total / input.size(0) if input.dim() > 0 else total
    return reduce_values(values, reduction)


def poisson_nll_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """The negative log likelihood of counts, given their expected number or its logarithm."""
    input, target = in_float32(input, target)
    reduction = reduction_name(size_average, reduce, reduction)
    reduction_number(reduction)
    values = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        # Stirling's formula for log(target!); below 2 it is taken for 0.
        small = target <= 1
        count = target.masked_fill(small, 1)
        stirling = count * count.log() - count + (count * (2 * math.pi)).log() * 0.5
        values = values + stirling.masked_fill(small, 0)
    return reduce_values(values, reduction)


def gaussian_nll_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    var: torch.Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> torch.Tensor:
    """The negative log likelihood of values under normal distributions; variances below ``eps`` count as it,
    and keep their gradient.
    """
    if not isinstance(var, torch.Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = torch.full_like(input.detach(), var)
    elif var.is_meta is False and bool(torch._C._functorch._of_all_slices(var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif not _one_size_differs(input, var):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    variance = var.clone()
    with torch.no_grad():
        variance.clamp_min_(eps)
    values = (variance.log() + (input - target).square() / variance) * 0.5
    if full:
        values = values + 0.5 * math.log(2 * math.pi)
    return reduce_values(values, reduction)


def _one_size_differs(input: torch.Tensor, var: torch.Tensor) -> bool:
    """Whether one variance stands for a whole dimension, and for one only."""
    sizes = list(zip(input.shape, var.shape, strict=False))
    differing = [b for a, b in sizes if a != b]
    return input.dim() == var.dim() and differing == [1]
