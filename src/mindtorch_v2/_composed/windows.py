"""Windows of signal processing, periodic or symmetric."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

_C_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int",
            "int32": "int", "int64": "long int", "complex64": "c10::complex<float>",
            "complex128": "c10::complex<double>"}  # fmt: skip


def _window(
    name: str, length: int, periodic: bool, of_place: Callable[[Tensor, int], Tensor], options: dict[str, Any]
) -> Tensor:
    """`of_place` gets the places 0, 1, … and the last one, which a periodic window leaves out."""
    options = dict(options)
    requires_grad = bool(options.pop("requires_grad", None))
    dtype = options.pop("dtype", None) or torch.get_default_dtype()
    if not dtype.is_floating_point:
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: "
            f"TensorOptions(dtype={_C_NAMES.get(dtype.name, dtype.name)}, "
            "device=cpu, layout=Strided (default), requires_grad=false (default), pinned_memory=false, "
            "memory_format=(nullopt))"
        )
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if length <= 1:
        return torch.ones(length, dtype=dtype, requires_grad=requires_grad, **options)
    # Half types keep only part of these digits: the window is computed in float32.
    compute = torch.float32 if dtype.itemsize == 2 else dtype
    last = length if periodic else length - 1
    window = of_place(torch.arange(length, dtype=compute, **options), last).to(dtype)
    return window.requires_grad_(requires_grad)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle."""
    return _window("bartlett_window", window_length, periodic,
                   lambda n, last: 1 - (n * (2 / last) - 1).abs(), options)  # fmt: skip


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any
) -> Tensor:
    """alpha less a cosine of amplitude beta."""
    return _window("hamming_window", window_length, periodic,
                   lambda n, last: alpha - beta * (n * (2 * math.pi / last)).cos(), options)  # fmt: skip


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A raised cosine."""
    return _window("hann_window", window_length, periodic,
                   lambda n, last: 0.5 - 0.5 * (n * (2 * math.pi / last)).cos(), options)  # fmt: skip


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """Two cosines, with weaker side lobes."""

    def of_place(n: Tensor, last: int) -> Tensor:
        angle = n * (2 * math.pi / last)
        return 0.42 - 0.5 * angle.cos() + 0.08 * (angle * 2).cos()

    return _window("blackman_window", window_length, periodic, of_place, options)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """Bessel functions of a half circle; beta trades width for side lobes."""

    def of_place(n: Tensor, last: int) -> Tensor:
        place = n * (2 / last) - 1
        return torch.i0(beta * (1 - place * place).clamp_min(0).sqrt()) / torch.i0(
            torch.full((), beta, dtype=n.dtype, device=n.device)
        )

    return _window("kaiser_window", window_length, periodic, of_place, options)
