"""Decompositions of operators whose parts are simple ones."""

from __future__ import annotations

import math
from typing import Any

import mindtorch_v2 as torch

from ._registry import register_decomposition

aten = torch.ops.aten


@register_decomposition(aten.silu.default)
def silu(self: Any) -> Any:
    return self * torch.sigmoid(self)


@register_decomposition(aten.softplus.default)
def softplus(self: Any, beta: float = 1, threshold: float = 20) -> Any:
    scaled = self * beta
    return torch.where(scaled > threshold, self, torch.log1p(torch.exp(scaled)) / beta)


@register_decomposition(aten.gelu.default)
def gelu(self: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (self + 0.044715 * self * self * self)
        return 0.5 * self * (1 + torch.tanh(inner))
    return 0.5 * self * (1 + torch.erf(self * math.sqrt(0.5)))


@register_decomposition(aten.leaky_relu.default)
def leaky_relu(self: Any, negative_slope: float = 0.01) -> Any:
    return torch.where(self > 0, self, self * negative_slope)


@register_decomposition(aten.hardtanh.default)
def hardtanh(self: Any, min_val: float = -1, max_val: float = 1) -> Any:
    return torch.clamp(self, min_val, max_val)


@register_decomposition(aten.hardsigmoid.default)
def hardsigmoid(self: Any) -> Any:
    return torch.clamp(torch.clamp(self + 3, min=0), max=6) / 6


@register_decomposition(aten.hardswish.default)
def hardswish(self: Any) -> Any:
    return self * torch.clamp(torch.clamp(self + 3, min=0), max=6) / 6


@register_decomposition(aten.elu.default)
def elu(self: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    return torch.where(self > 0, self * scale, torch.expm1(self * input_scale) * (alpha * scale))


@register_decomposition(aten._softmax.default)
def _softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    exponentials = torch.exp(x - torch.amax(x, dim, keepdim=True)) if x.numel() else torch.exp(x)
    return exponentials / torch.sum(exponentials, dim, keepdim=True)


@register_decomposition(aten._log_softmax.default)
def _log_softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    shifted = x - torch.amax(x, dim, keepdim=True) if x.numel() else x
    return shifted - torch.log(torch.sum(torch.exp(shifted), dim, keepdim=True))


@register_decomposition(aten.native_layer_norm.default)
def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    mean = torch.mean(input, dims, keepdim=True)
    centred = input - mean
    rstd = torch.rsqrt(torch.mean(centred * centred, dims, keepdim=True) + eps)
    out = centred * rstd
    out = out if weight is None else out * weight
    return (out if bias is None else out + bias), mean, rstd


@register_decomposition(aten.addmm.default)
def addmm(self: Any, mat1: Any, mat2: Any, beta: float = 1, alpha: float = 1) -> Any:
    product = torch.mm(mat1, mat2)
    return (self if beta == 1 else self * beta) + (product if alpha == 1 else product * alpha)


@register_decomposition(aten.addcmul.default)
def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    return self + value * (tensor1 * tensor2)


@register_decomposition(aten.addcdiv.default)
def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    return self + value * (tensor1 / tensor2)


@register_decomposition(aten.tanh_backward.default)
def tanh_backward(grad_output: Any, output: Any) -> Any:
    return grad_output * (1 - output * output)


@register_decomposition(aten.sigmoid_backward.default)
def sigmoid_backward(grad_output: Any, output: Any) -> Any:
    return grad_output * (output * (1 - output))


@register_decomposition(aten.threshold_backward.default)
def threshold_backward(grad_output: Any, self: Any, threshold: float) -> Any:
    return torch.where(self <= threshold, 0, grad_output)


@register_decomposition(aten._softmax_backward_data.default)
def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    weighted = grad_output * output
    return weighted - output * torch.sum(weighted, dim, keepdim=True)


@register_decomposition(aten._log_softmax_backward_data.default)
def _log_softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    return grad_output - torch.exp(output) * torch.sum(grad_output, dim, keepdim=True)


@register_decomposition(aten.embedding.default)
def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    return weight[indices]


@register_decomposition(aten.rsub.Scalar)
def rsub(self: Any, other: Any, alpha: float = 1) -> Any:
    return other - self * alpha


@register_decomposition(aten.t.default)
def t(self: Any) -> Any:
    return self if self.dim() < 2 else torch.transpose(self, 0, 1)
