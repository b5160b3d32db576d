"""Convolutions and transposed convolutions of one to three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import mindtorch_v2 as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


def _repeated(value: Any, dims: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,) * dims


class _Convolution(Module):
    """Parameters and options that all convolutions share."""

    _dims: ClassVar[int]
    _transposed: ClassVar[bool] = False
    _function: ClassVar[Callable[..., torch.Tensor]]

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        stride = _repeated(stride, self._dims)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = {"zeros", "reflect", "replicate", "circular"}
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _repeated(kernel_size, self._dims)
        self.stride = stride
        self.padding = padding if isinstance(padding, str) else _repeated(padding, self._dims)
        self.dilation = _repeated(dilation, self._dims)
        self.transposed = self._transposed
        self.output_padding = _repeated(output_padding, self._dims)
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._both_sides()
        channels = (
            (in_channels, out_channels // groups)
            if self.transposed
            else (out_channels, in_channels // groups)
        )
        self.weight = Parameter(torch.empty((*channels, *self.kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _both_sides(self) -> list[int]:
        """The padding as `pad` takes it: the last dimension first, before and after."""
        sides: list[int] = []
        for d in reversed(range(self._dims)):
            if isinstance(self.padding, str):
                total = self.dilation[d] * (self.kernel_size[d] - 1) if self.padding == "same" else 0
                sides += [total // 2, total - total // 2]
            else:
                sides += [self.padding[d]] * 2
        return sides

    def reset_parameters(self) -> None:
        # With a = sqrt(5) the bound is 1/sqrt(fan in), the same as the bias's.
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        )
        if self.padding != (0,) * self._dims:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._dims:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self._dims:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Forward(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        convolve = type(self)._function
        if self.padding_mode == "zeros":
            return convolve(
                input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
            )
        padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return convolve(padded, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)


class Conv1d(_Forward):
    """Slides a kernel over inputs of shape (N, C, L) or (C, L)."""

    _dims = 1
    _function = staticmethod(F.conv1d)


class Conv2d(_Forward):
    """Slides a kernel over inputs of shape (N, C, H, W) or (C, H, W)."""

    _dims = 2
    _function = staticmethod(F.conv2d)


class Conv3d(_Forward):
    """Slides a kernel over inputs of shape (N, C, D, H, W) or (C, D, H, W)."""

    _dims = 3
    _function = staticmethod(F.conv3d)


class _Transposed(_Convolution):
    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: torch.Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """What has to be added for the output to get the size asked for."""
        if output_size is None:
            return self.output_padding
        dims = self._dims
        wanted = list(output_size)
        if len(wanted) == input.dim():
            wanted = wanted[-dims:]
        if len(wanted) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                f"{input.dim()} elements (got {len(output_size)})"
            )
        low = [
            (input.size(d - dims) - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(dims)
        ]
        high = [low[d] + self.stride[d] - 1 for d in range(dims)]
        if any(not low[d] <= wanted[d] <= high[d] for d in range(dims)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {low} to {high} "
                f"(for an input of {input.size()[-dims:]})"
            )
        return tuple(wanted[d] - low[d] for d in range(dims))

    def forward(self, input: torch.Tensor, output_size: Sequence[int] | None = None) -> torch.Tensor:
        return type(self)._function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_Transposed):
    """The gradient of a Conv1d in its input, as a module of its own."""

    _dims = 1
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_Transposed):
    """The gradient of a Conv2d in its input, as a module of its own."""

    _dims = 2
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_Transposed):
    """The gradient of a Conv3d in its input, as a module of its own."""

    _dims = 3
    _function = staticmethod(F.conv_transpose3d)
