"""Normalisations built on others."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """A batch norm in which every channel of every sample is a channel of its own."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    batch, channels = input.size(0), input.size(1)

    def per_sample(values: Tensor | None) -> Tensor | None:
        return None if values is None else values.expand(batch, channels).reshape(-1)

    means, variances = per_sample(running_mean), per_sample(running_var)
    if batch == 1 and means is not None:  # the repeated values must not be the running statistics themselves
        means = means.clone()
    if batch == 1 and variances is not None:
        variances = variances.clone()
    result = torch.batch_norm(
        input.reshape(1, batch * channels, *input.shape[2:]), per_sample(weight), per_sample(bias), means,
        variances, use_input_stats, momentum, eps, cudnn_enabled,
    )  # fmt: skip
    if use_input_stats:
        with torch.no_grad():
            for running, seen in ((running_mean, means), (running_var, variances)):
                if running is not None and seen is not None:
                    running.copy_(seen.reshape(batch, channels).mean(0))
    return result.reshape(input.shape)


def fused_rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """`rms_norm`, and what it multiplies with: one over the root of the mean square."""
    wide = _wide(input)
    dims = list(range(-len(normalized_shape), 0))
    made = torch.rms_norm(input, normalized_shape, weight, eps)  # refuses shapes that do not fit
    small = torch.finfo(wide.dtype).eps if eps is None else eps
    return made, (wide.square().mean(dims, keepdim=True) + small).rsqrt()


# ---- batch norms over several processes ----------------------------------------------------------------


def _wide(x: Tensor) -> Tensor:
    """In the precision of statistics."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _channels(values: Tensor, like: Tensor) -> Tensor:
    """One value for each channel, in a shape that broadcasts."""
    return values.reshape([1, -1] + [1] * (like.dim() - 2))


def _others(x: Tensor) -> list[int]:
    if x.dim() < 2:
        raise RuntimeError(f"batch norm: wanted an input of at least 2 dimensions, got one of {x.dim()}")
    return [d for d in range(x.dim()) if d != 1]


def _update(running: Tensor | None, seen: Tensor, momentum: float) -> None:
    if running is not None:
        with torch.no_grad():
            running.mul_(1 - momentum).add_(seen.to(running.dtype), alpha=momentum)


def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """The mean of each channel, and one over its standard deviation."""
    variance, mean = torch.var_mean(_wide(input), _others(input), correction=0)
    return mean, (variance + eps).rsqrt()


def batch_norm_elemt(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    scale = invstd if weight is None else invstd * weight
    made = (_wide(input) - _channels(mean, input)) * _channels(scale, input)
    return (made if bias is None else made + _channels(bias, input)).to(input.dtype)


def batch_norm_gather_stats(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    count: int,
) -> tuple[Tensor, Tensor]:
    counts = torch.full((mean.shape[0],), count, dtype=mean.dtype, device=mean.device)
    return batch_norm_gather_stats_with_counts(
        input, mean, invstd, running_mean, running_var, momentum, eps, counts
    )


def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Statistics of the whole from those of parts, a row each, with `counts` elements of a channel in them."""
    share = counts.to(mean.dtype).reshape(-1, 1)
    total = share.sum()
    whole = (mean * share).sum(0) / total
    # Squares around the common mean: those within the parts, and those between them.
    squares = ((invstd.pow(-2) - eps + (mean - whole).square()) * share).sum(0)
    _update(running_mean, whole, momentum)
    _update(running_var, squares / (total - 1), momentum)
    return whole, (squares / total + eps).rsqrt()


def batch_norm_backward_reduce(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """Sums over a part: of the gradient, and of it times the centred input; the gradients of weight and bias."""
    dims, slope = _others(input), _wide(grad_out)
    total = slope.sum(dims)
    centred = (slope * (_wide(input) - _channels(mean, input))).sum(dims)
    dtype = grad_out.dtype if weight is None else weight.dtype
    return (
        total if input_g else None,
        centred if input_g else None,
        (centred * invstd).to(dtype) if weight_g else None,
        total.to(dtype) if bias_g else None,
    )


def batch_norm_backward_elemt(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    """The gradient of the input, from sums over all parts, which have `count` elements of a channel each."""
    total = count.sum().to(invstd.dtype)
    slope = _channels(sum_dy_xmu * invstd.square() / total, input)
    rest = _wide(grad_out) - _channels(sum_dy / total, input)
    scale = invstd if weight is None else invstd * weight
    made = (rest - (_wide(input) - _channels(mean, input)) * slope) * _channels(scale, input)
    return made.to(input.dtype)


def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel; the running ones move towards them."""
    variance, mean = torch.var_mean(_wide(input), _others(input), correction=0)
    count = input.numel() // input.shape[1]
    _update(running_mean, mean, momentum)
    _update(running_var, variance * (count / (count - 1)) if count > 1 else variance, momentum)
    return mean, variance
