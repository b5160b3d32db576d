"""Normalisations built on others."""

from __future__ import annotations

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
