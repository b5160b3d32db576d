"""Batch normalisation folded into the layer before it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _evaluated(layer: Any, bn: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Expected bn.running_mean and bn.running_var to be set")
    return copy.deepcopy(layer)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what ``conv`` and then ``bn`` do."""
    fused = _evaluated(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of the convolution with the normalisation in it."""
    bias = torch.zeros_like(bn_rm) if conv_b is None else conv_b
    scale = (torch.ones_like(bn_rm) if bn_w is None else bn_w) * torch.rsqrt(bn_rv + bn_eps)
    shift = torch.zeros_like(bn_rm) if bn_b is None else bn_b
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    moved = ((bias - bn_rm) * scale + shift).to(bias.dtype)
    return (
        Parameter(weight.detach(), conv_w.requires_grad),
        Parameter(moved.detach(), bias.requires_grad),
    )


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A Linear that does what ``linear`` and then ``bn`` do."""
    fused = _evaluated(linear, bn)
    # One feature of the normalisation is broadcast over all outputs, but not the other way round.
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of the Linear with the normalisation in it."""
    bias = torch.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * torch.rsqrt(bn_rv + bn_eps)
    weight = (linear_w * scale.unsqueeze(-1)).to(linear_w.dtype)
    moved = ((bias - bn_rm) * scale + bn_b).to(bias.dtype)
    return (
        Parameter(weight.detach(), linear_w.requires_grad),
        Parameter(moved.detach(), bias.requires_grad),
    )
