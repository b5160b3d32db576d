"""Losses."""

from __future__ import annotations

import math
import warnings

import mindtorch_v2 as torch

from ... import _functions
from ._reduction import reduction_name, reduction_number
from .activation import log_softmax

__all__ = ["cross_entropy", "mse_loss", "nll_loss"]


def _reduce(values: torch.Tensor, reduction: str) -> torch.Tensor:
    reduction_number(reduction)
    if reduction == "mean":
        return values.mean()
    return values.sum() if reduction == "sum" else values


def mse_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
            "This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=2,
        )
    reduction = reduction_name(size_average, reduce, reduction)
    squares = (input - target).square()
    if weight is None:
        return _reduce(squares, reduction)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = squares * weight
    if reduction == "mean":
        return weighted.sum() / weight.sum()
    return _reduce(weighted, reduction)


def _check_target(input: torch.Tensor, target: torch.Tensor) -> None:
    """The shapes of a batch and its classes; for a single sample the operator checks."""
    if input.dim() < 2:
        return
    batch = target.size(0) if target.dim() else 0
    if input.size(0) != batch:
        raise ValueError(f"Expected input batch_size ({input.size(0)}) to match target batch_size ({batch}).")
    if input.dim() == 2 and target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    wanted = [input.size(0), *input.shape[2:]]
    if list(target.shape) != wanted:
        raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")


def nll_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """Minus the given log-probability of each target class: (N, C, …) with classes (N, …)."""
    number = reduction_number(reduction_name(size_average, reduce, reduction))
    _check_target(input, target)
    return _functions.nll_loss(input, target, weight, number, ignore_index)


def cross_entropy(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> torch.Tensor:
    """``log_softmax`` then ``nll_loss``. The target holds classes, or, in the input's shape,
    probabilities.
    """
    reduction = reduction_name(size_average, reduce, reduction)
    number = reduction_number(reduction)
    if target.shape == input.shape:
        return _probability_loss(input, target, weight, ignore_index, reduction, label_smoothing)
    _check_target(input, target)
    if label_smoothing == 0.0:
        return _functions.cross_entropy_loss(input, target, weight, number, ignore_index)
    _check_smoothing(label_smoothing)
    log_probabilities = log_softmax(input, 0 if input.dim() == 1 else 1)
    loss = nll_loss(log_probabilities, target, weight, ignore_index=ignore_index, reduction=reduction)
    spread = _smoothing_loss(log_probabilities, target, weight, ignore_index, reduction)
    classes = input.size(0 if input.dim() == 1 else 1)
    return loss * (1 - label_smoothing) + spread * (label_smoothing / classes)


def _check_smoothing(label_smoothing: float) -> None:
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _per_class(weight: torch.Tensor, input: torch.Tensor, class_dim: int) -> torch.Tensor:
    shape = [1] * input.dim()
    shape[class_dim] = -1
    return weight.reshape(shape)


def _smoothing_loss(
    log_probabilities: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    ignore_index: int,
    reduction: str,
) -> torch.Tensor:
    """The part of the loss that every class gets alike; ``mean`` divides as nll_loss does."""
    class_dim = 0 if log_probabilities.dim() == 1 else 1
    values = log_probabilities
    if weight is not None:
        values = values * _per_class(weight, values, class_dim)
    ignored = target == ignore_index
    values = (-values.sum(class_dim)).masked_fill(ignored, 0)
    if reduction == "none":
        return values
    if reduction == "sum":
        return values.sum()
    # The weights of the targets, summed: a loss whose log-probabilities are all -1.
    minus_one = torch.full_like(log_probabilities.detach(), -1)
    return values.sum() / nll_loss(minus_one, target, weight, ignore_index=ignore_index, reduction="sum")


def _probability_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> torch.Tensor:
    if not target.is_floating_point():
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    class_dim = 0 if input.dim() == 1 else 1
    classes = input.size(class_dim)
    if weight is not None and (weight.dim() != 1 or weight.numel() != classes):
        raise RuntimeError(
            "cross_entropy: weight tensor should be defined either for all "
            f"{classes} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
        )
    if label_smoothing != 0.0:
        _check_smoothing(label_smoothing)
        target = target * (1 - label_smoothing) + label_smoothing / classes
    products = log_softmax(input, class_dim) * target
    if weight is not None:
        products = products * _per_class(weight, input, class_dim)
    loss = -products.sum(class_dim)
    if reduction == "none":
        return loss
    samples = math.prod(input.shape) // classes if classes else 0
    return loss.sum() / samples if reduction == "mean" else loss.sum()
