"""Pooling layers."""

from __future__ import annotations

from typing import Any, ClassVar

import mindtorch_v2 as torch

from .. import functional as F
from .module import Module


class _MaxPool(Module):
    _dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: torch.Tensor) -> Any:
        pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[self._dims - 1]
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest of each window of (N, C, L)."""

    _dims = 1


class MaxPool2d(_MaxPool):
    """The largest of each window of (N, C, H, W)."""

    _dims = 2


class MaxPool3d(_MaxPool):
    """The largest of each window of (N, C, D, H, W)."""

    _dims = 3


class AvgPool1d(Module):
    """The mean of each window of (N, C, L)."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size if isinstance(kernel_size, tuple) else (kernel_size,)
        stride = kernel_size if stride is None else stride
        self.stride = stride if isinstance(stride, tuple) else (stride,)
        self.padding = padding if isinstance(padding, tuple) else (padding,)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    _dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pool = F.avg_pool2d if self._dims == 2 else F.avg_pool3d
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean of each window of (N, C, H, W)."""

    _dims = 2


class AvgPool3d(_AvgPool):
    """The mean of each window of (N, C, D, H, W)."""

    _dims = 3


class _AdaptiveAvgPool(Module):
    _dims: ClassVar[int]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pools = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)
        return pools[self._dims - 1](input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means over as many windows as the output has places."""

    _dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means over as many windows as the output has places."""

    _dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means over as many windows as the output has places."""

    _dims = 3


class _AdaptiveMaxPool(Module):
    _dims: ClassVar[int]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: torch.Tensor) -> Any:
        pools = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)
        return pools[self._dims - 1](input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima over as many windows as the output has places."""

    _dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima over as many windows as the output has places."""

    _dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima over as many windows as the output has places."""

    _dims = 3


class _MaxUnpool(Module):
    _dims: ClassVar[int]

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        repeated = [
            tuple(value) if isinstance(value, (tuple, list)) else (value,) * self._dims
            for value in (kernel_size, kernel_size if stride is None else stride, padding)
        ]
        self.kernel_size, self.stride, self.padding = repeated

    def forward(self, input: torch.Tensor, indices: torch.Tensor, output_size: Any = None) -> torch.Tensor:
        unpool = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[self._dims - 1]
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Puts maxima back where MaxPool1d found them; the rest is zero."""

    _dims = 1


class MaxUnpool2d(_MaxUnpool):
    """Puts maxima back where MaxPool2d found them; the rest is zero."""

    _dims = 2


class MaxUnpool3d(_MaxUnpool):
    """Puts maxima back where MaxPool3d found them; the rest is zero."""

    _dims = 3


class _LPPool(Module):
    _dims: ClassVar[int]

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        pool = (F.lp_pool1d, F.lp_pool2d, F.lp_pool3d)[self._dims - 1]
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The p-norm of each window of (N, C, L)."""

    _dims = 1


class LPPool2d(_LPPool):
    """The p-norm of each window of (N, C, H, W)."""

    _dims = 2


class LPPool3d(_LPPool):
    """The p-norm of each window of (N, C, D, H, W)."""

    _dims = 3
