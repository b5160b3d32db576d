"""Operators of ``torch_npu`` that are one ACLNN call, and those that are PyTorch's under another name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from .._backends.npu import aclnn
from .._C import Tensor, dtype
from ..autograd.function import Function
from ..nn import functional
from . import _elsewhere

_ROTARY_MODES = {"half": 0, "interleave": 1}


def _like(tensor: Tensor) -> Tensor:
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


class _RmsNorm(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gamma: Tensor, epsilon: float) -> Any:
        y = _like(x)
        kept = x.dim() - gamma.dim()
        rstd = torch.empty(tuple(x.shape[:kept]) + (1,) * gamma.dim(), dtype=torch.float32, device=x.device)
        aclnn.call("aclnnRmsNorm", x, gamma, epsilon, y, rstd)
        ctx.save_for_backward(x, gamma, rstd)
        ctx.mark_non_differentiable(rstd)
        return y, rstd

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> Any:
        x, gamma, rstd = ctx.saved_tensors
        dx, dgamma = _like(x), torch.empty(gamma.shape, dtype=torch.float32, device=gamma.device)
        aclnn.call("aclnnRmsNormGrad", grad.contiguous(), x, rstd, gamma, dx, dgamma)
        return dx, dgamma.to(gamma.dtype), None


class _SwiGlu(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        shape = list(x.shape)
        shape[dim] //= 2
        out = torch.empty(shape, dtype=x.dtype, device=x.device)
        aclnn.call("aclnnSwiGlu", x, dim, out)
        ctx.save_for_backward(x)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        found = _like(x)
        aclnn.call("aclnnSwiGluGrad", grad.contiguous(), x, ctx.dim, found)
        return found, None


class _GeGlu(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, approximate: int, activate_left: bool) -> Any:
        shape = list(x.shape)
        shape[dim] //= 2
        out = torch.empty(shape, dtype=x.dtype, device=x.device)
        active = torch.empty_like(out)
        aclnn.call("aclnnGeGluV3", x, dim, approximate, activate_left, out, active)
        ctx.save_for_backward(x, active)
        ctx.how = (dim, approximate, activate_left)
        ctx.mark_non_differentiable(active)
        return out, active

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> Any:
        x, active = ctx.saved_tensors
        found = _like(x)
        aclnn.call("aclnnGeGluV3Backward", grad.contiguous(), x, active, *ctx.how, found)
        return found, None, None, None


class _RotaryMul(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, mode: int) -> Tensor:
        out = _like(x)
        aclnn.call("aclnnRotaryPositionEmbedding", x, cos, sin, mode, out)
        ctx.save_for_backward(x, cos, sin)
        ctx.mode = mode
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, cos, sin = ctx.saved_tensors
        found = [_like(t) for t in (x, cos, sin)]
        aclnn.call("aclnnRotaryPositionEmbeddingGrad", grad.contiguous(), cos, sin, x, ctx.mode, *found)
        return (*found, None)


class _FastGelu(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = _like(x)
        aclnn.call("aclnnFastGelu", x, out)
        ctx.save_for_backward(x)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        found = _like(x)
        aclnn.call("aclnnFastGeluBackward", grad.contiguous(), x, found)
        return found


class _ScaledMaskedSoftmax(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mask: Tensor, scale: float, triangle: bool) -> Tensor:
        out = _like(x)
        aclnn.call("aclnnScaledMaskedSoftmax", x, mask, scale, triangle, out)
        ctx.save_for_backward(out, mask)
        ctx.scale, ctx.triangle = scale, triangle
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        out, mask = ctx.saved_tensors
        found = _like(out)
        aclnn.call(
            "aclnnScaledMaskedSoftmaxBackward", grad.contiguous(), out, mask, ctx.scale, ctx.triangle, found
        )
        return found, None, None, None


def _on_npu(tensor: Tensor) -> bool:
    return tensor.device.type == "npu"


def npu_rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """The input divided by its root mean square over the last dimensions, times gamma; and 1 / that root."""
    if not _on_npu(input):
        return _elsewhere.rms_norm(input, gamma, epsilon)
    y, rstd = _RmsNorm.apply(input, gamma, epsilon)
    return y, rstd


def npu_add_rms_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    """npu_rms_norm of a sum, and the sum."""
    x = x1 + x2
    y, rstd = npu_rms_norm(x, gamma, epsilon)
    return y, rstd, x


def npu_swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """silu of the first half along a dimension, times the second half."""
    if input.shape[dim] % 2:
        raise RuntimeError(f"npu_swiglu: size {input.shape[dim]} of dimension {dim} cannot be halved")
    if not _on_npu(input):
        return _elsewhere.swiglu(input, dim)
    result: Tensor = _SwiGlu.apply(input, dim)
    return result


def npu_geglu(
    input: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False
) -> tuple[Tensor, Tensor]:
    """One half along a dimension times gelu of the other (the second, unless activate_left); and that gelu.

    approximate: 1 for gelu by tanh, 0 by the error function.
    """
    if input.shape[dim] % 2:
        raise RuntimeError(f"npu_geglu: size {input.shape[dim]} of dimension {dim} cannot be halved")
    if approximate not in (0, 1):
        raise ValueError(f"npu_geglu: approximate is {approximate}; wanted 0 or 1")
    if not _on_npu(input):
        return _elsewhere.geglu(input, dim, "tanh" if approximate else "none", activate_left)
    out, active = _GeGlu.apply(input, dim, approximate, activate_left)
    return out, active


def npu_rotary_mul(
    input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half", rotate: Tensor | None = None
) -> Tensor:
    """Rotary position embedding: input * r1 (cosines) + rotated input * r2 (sines)."""
    if rotary_mode not in _ROTARY_MODES:
        raise ValueError(f"npu_rotary_mul: rotary_mode is {rotary_mode!r}; wanted 'half' or 'interleave'")
    if rotate is not None:
        raise NotImplementedError("npu_rotary_mul: a matrix for the rotation is not there; use rotary_mode")
    if not _on_npu(input):
        return _elsewhere.rotary_mul(input, r1, r2, rotary_mode)
    result: Tensor = _RotaryMul.apply(input, r1, r2, _ROTARY_MODES[rotary_mode])
    return result


def npu_fast_gelu(input: Tensor) -> Tensor:
    """x / (1 + exp(-1.702 |x|)) * exp(0.851 (x - |x|)): the NPU's quick gelu."""
    if not _on_npu(input):
        return _elsewhere.fast_gelu(input)
    result: Tensor = _FastGelu.apply(input)
    return result


def npu_scaled_masked_softmax(
    x: Tensor, mask: Tensor, scale: float = 1, fixed_triu_mask: bool = False
) -> Tensor:
    """softmax(x * scale) over the last dimension where the mask is False."""
    if not _on_npu(x):
        return _elsewhere.scaled_masked_softmax(x, mask, scale, fixed_triu_mask)
    result: Tensor = _ScaledMaskedSoftmax.apply(x, mask, scale, fixed_triu_mask)
    return result


def npu_gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """torch.nn.functional.gelu."""
    return functional.gelu(input, approximate=approximate)


def npu_silu(input: Tensor) -> Tensor:
    """torch.nn.functional.silu."""
    return functional.silu(input)


def npu_mish(input: Tensor) -> Tensor:
    """torch.nn.functional.mish."""
    return functional.mish(input)


def npu_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """torch.nn.functional.linear."""
    return functional.linear(input, weight, bias)


def npu_bmmV2(input: Tensor, mat2: Tensor, output_sizes: Sequence[int]) -> Tensor:
    """torch.matmul, in the shape asked for."""
    found = torch.matmul(input, mat2)
    return found.reshape(list(output_sizes)) if len(output_sizes) else found


def npu_dtype_cast(input: Tensor, dtype: dtype) -> Tensor:
    """The tensor in another dtype."""
    return input.to(dtype)


def npu_transpose(input: Tensor, perm: Sequence[int], require_contiguous: bool = True) -> Tensor:
    """The dimensions in another order, laid out in it."""
    moved = input.permute(*perm)
    return moved.contiguous() if require_contiguous else moved


def npu_confusion_transpose(
    input: Tensor, perm: Sequence[int], shape: Sequence[int], transpose_first: bool
) -> Tensor:
    """A transposition and a reshape, in either order."""
    if transpose_first:
        return input.permute(*perm).reshape(list(shape))
    return input.reshape(list(shape)).permute(*perm).contiguous()


def npu_format_cast(input: Tensor, acl_format: int) -> Tensor:
    """The tensor itself for formats without a layout of their own (ND, NCHW); the others are not there."""
    if int(acl_format) not in (-1, 0, 2):
        raise NotImplementedError(
            f"npu_format_cast: format {acl_format} is not there; tensors are always in the format ND"
        )
    return input
