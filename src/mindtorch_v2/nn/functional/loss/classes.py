"""Losses of classes: the likelihood of targets, margins between scores, sequences of labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mindtorch_v2 as torch

from ...._C import _functions, _nn
from ....amp.autocast_mode import in_float32
from ..matmul import linear
from ..softmax import log_softmax
from .reduction import reduce_values, reduction_name, reduction_number, type_title

__all__ = [
    "cross_entropy",
    "ctc_loss",
    "linear_cross_entropy",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
]


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
    if input.dim() == 0:
        raise ValueError(f"Expected 1 or more dimensions (got {input.dim()})")
    _check_target(input, target)
    return _nn.nll_loss(input, target, weight, number, ignore_index)


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
    if target.is_floating_point():
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {type_title(target)}")
    if label_smoothing == 0.0:
        return _nn.cross_entropy_loss(input, target, weight, number, ignore_index)
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


def linear_cross_entropy(
    input: torch.Tensor,
    linear_weight: torch.Tensor,
    target: torch.Tensor,
    *,
    linear_bias: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: object = None,
) -> torch.Tensor:
    """``cross_entropy`` of ``linear``. A weight of more than two dimensions gives scores for each of the
    further ones. ``options`` say how PyTorch may save memory; the result is the same.
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    classes, *places, features = linear_weight.shape
    if input.size(-1) != features:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.size(-1)} and {features}, respectively"
        )
    if places and input.dim() != 2:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(linear_weight.shape[:-1])}, got {tuple(linear_bias.shape)}"
        )
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape(-1, features), bias)
    if places:
        scores = scores.reshape([input.size(0), classes, *places])
    return cross_entropy(
        scores,
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )


def _check_classes(target: torch.Tensor) -> None:
    if target.dtype != torch.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.type().split('.')[-1][:-6]}")


def multi_margin_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """What the target's score lacks to exceed each other class's by the margin."""
    reduction = reduction_name(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _nn.multi_margin_loss(input, target, p, margin, weight, reduction_number(reduction))


def multilabel_margin_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """The margins between the scores of the target classes, listed up to the first -1, and all others."""
    input, target = in_float32(input, target)
    reduction = reduction_name(size_average, reduce, reduction)
    reduction_number(reduction)  # refuses others
    if input.dim() > 2 or (input.dim() > 0 and input.size(-1) == 0):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}"
        )
    if target.shape != input.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    _check_classes(target)
    scores, labels = (t if t.dim() == 2 else t.reshape(1, -1) for t in (input, target))
    classes = scores.size(1)
    if not labels.is_meta and bool(
        torch._C._functorch._of_all_slices((labels < -1) | (labels >= classes)).any()
    ):
        raise RuntimeError("argument #2 'target' is out of range")
    position = torch.arange(classes, device=input.device)
    listed = position < torch.where(labels < 0, position, classes).amin(1, keepdim=True)
    own = scores.gather(1, labels.clamp_min(0))
    named = torch.zeros(scores.size(0), classes + 1, dtype=torch.bool, device=input.device)
    named = named.scatter(1, torch.where(listed, labels, classes), True)[:, :classes]
    others = scores.masked_fill(named, torch.finfo(scores.dtype).min)  # never within the margin
    lack = (others.unsqueeze(1) - (own - 1).unsqueeze(2)).clamp_min(0).sum(2)  # of each place in the list
    loss = lack.masked_fill(~listed, 0).sum(1) / classes
    return reduce_values(loss if input.dim() == 2 else loss.reshape([]), reduction)


def multilabel_soft_margin_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> torch.Tensor:
    """The binary cross entropy of each class, averaged over the classes."""
    reduction = reduction_name(size_average, reduce, reduction)
    size = input.abs()
    both = (-size).exp().log1p()
    values = target * (both + (size - input) * 0.5) + (1 - target) * (both + (size + input) * 0.5)
    if weight is not None:
        values = values * weight
    return reduce_values(values.sum(-1) / input.size(-1), reduction)


def _lengths(value: torch.Tensor | Sequence[int], name: str) -> list[int]:
    if not isinstance(value, torch.Tensor):
        return [int(n) for n in value]
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        raise RuntimeError(f"{name} must be integral")
    return [int(n) for n in value.reshape(-1).tolist()]


def ctc_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: torch.Tensor | Sequence[int],
    target_lengths: torch.Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> torch.Tensor:
    """Minus the log-probability of label sequences of unknown alignment: (T, N, C), or (T, C) for one."""
    reduction_number(reduction)
    inputs, labels = _lengths(input_lengths, "input_lengths"), _lengths(target_lengths, "target_lengths")
    single = log_probs.dim() == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.unsqueeze(0) if targets.dim() == 1 else targets
    if targets.is_floating_point():
        targets = targets.to(torch.int64)
    (log_probs,) = in_float32(log_probs)
    loss = _functions._ctc_loss(log_probs, targets, inputs, labels, blank, zero_infinity)[0]
    if reduction == "mean":
        divisor = torch.tensor([max(n, 1) for n in labels], dtype=loss.dtype, device=loss.device)
        return (loss / divisor).mean()
    if reduction == "sum":
        return loss.sum()
    return loss.squeeze(0) if single else loss
