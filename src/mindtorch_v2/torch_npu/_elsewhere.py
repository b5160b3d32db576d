"""The fused operators for tensors that are on no NPU, made of PyTorch's.

Packages such as diffusers call them for every tensor as soon as ``import torch_npu`` works, and here it always does.
"""

from __future__ import annotations

import mindtorch_v2 as torch

from .._C import Tensor
from ..nn import functional


def rms_norm(x: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    precise = x.float()
    dims = tuple(range(x.dim() - gamma.dim(), x.dim()))
    rstd = precise.square().mean(dims, keepdim=True).add(epsilon).rsqrt()
    return (precise * rstd).to(x.dtype) * gamma, rstd.detach()


def swiglu(x: Tensor, dim: int) -> Tensor:
    left, right = x.chunk(2, dim)
    return functional.silu(left) * right


def geglu(x: Tensor, dim: int, approximate: str, activate_left: bool) -> tuple[Tensor, Tensor]:
    left, right = x.chunk(2, dim)
    kept, gate = (right, left) if activate_left else (left, right)
    active = functional.gelu(gate, approximate=approximate)
    return kept * active, active.detach()


def rotary_mul(x: Tensor, cos: Tensor, sin: Tensor, mode: str) -> Tensor:
    if mode == "half":
        first, second = x.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
    else:
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * cos + turned * sin


def fast_gelu(x: Tensor) -> Tensor:
    size = x.abs()
    return x / (1 + torch.exp(-1.702 * size)) * torch.exp(0.851 * (x - size))


def scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float, fixed_triu_mask: bool) -> Tensor:
    if fixed_triu_mask:
        raise RuntimeError("npu_scaled_masked_softmax: fixed_triu_mask must be False, as on the card")
    return functional.softmax((x * scale).masked_fill(mask.bool(), -10000.0), -1)
