"""Windows of signal processing, with SciPy's names and parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable

import mindtorch_v2 as torch

from .._types.formats import layout as Layout
from .._types.formats import strided

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming",
    "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip


def _checked(name: str, M: int, dtype: torch.dtype | None, layout: Layout) -> torch.dtype:
    """The dtype of the window, after its parameters were found to be good."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return dtype


def _places(
    M: int,
    start: float,
    step: float,
    dtype: torch.dtype,
    device: torch.device | str | None,
    requires_grad: bool,
) -> torch.Tensor:
    """start, start + step, …: M of them."""
    return torch.linspace(
        start, start + (M - 1) * step, M, dtype=dtype, device=device, requires_grad=requires_grad
    )


def _trivial(
    M: int, dtype: torch.dtype, device: torch.device | str | None, requires_grad: bool
) -> torch.Tensor | None:
    """Windows of no or one place."""
    if M > 1:
        return None
    return torch.ones(M, dtype=dtype, device=device, requires_grad=requires_grad)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: Layout = strided, device: torch.device | str | None = None, requires_grad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """exp(-|n - center| / tau)."""
    dtype = _checked("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    trivial = _trivial(M, dtype, device, requires_grad)
    if trivial is not None:
        return trivial
    middle = (M if not sym else M - 1) / 2 if center is None else center
    n = _places(M, -middle / tau, 1 / tau, dtype, device, requires_grad)
    return torch.exp(-torch.abs(n))


def cosine(
    M: int, *, sym: bool = True, dtype: torch.dtype | None = None, layout: Layout = strided,
    device: torch.device | str | None = None, requires_grad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """Half a sine wave."""
    dtype = _checked("cosine", M, dtype, layout)
    trivial = _trivial(M, dtype, device, requires_grad)
    if trivial is not None:
        return trivial
    step = math.pi / (M if sym else M + 1)
    return torch.sin(_places(M, 0.5 * step, step, dtype, device, requires_grad))


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True,
    dtype: torch.dtype | None = None, layout: Layout = strided,
    device: torch.device | str | None = None, requires_grad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """A bell curve."""
    dtype = _checked("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    trivial = _trivial(M, dtype, device, requires_grad)
    if trivial is not None:
        return trivial
    step = 1 / (std * math.sqrt(2))
    n = _places(M, -(M if not sym else M - 1) / 2 * step, step, dtype, device, requires_grad)
    return torch.exp(-(n * n))


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True,
    dtype: torch.dtype | None = None, layout: Layout = strided,
    device: torch.device | str | None = None, requires_grad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """A Bessel function over a half circle."""
    dtype = _checked("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    trivial = _trivial(M, dtype, device, requires_grad)
    if trivial is not None:
        return trivial
    n = _places(M, -beta, 2 * beta / (M if not sym else M - 1), dtype, device, requires_grad)
    height = torch.full((), beta, dtype=dtype, device=device)
    # Rounding may push the ends outside the circle.
    return torch.i0(torch.sqrt((height * height - n * n).clamp_min(0))) / torch.i0(height)


def hamming(
    M: int, *, sym: bool = True, dtype: torch.dtype | None = None, layout: Layout = strided,
    device: torch.device | str | None = None, requires_grad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """A raised cosine that does not reach zero."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: torch.dtype | None = None, layout: Layout = strided,
    device: torch.device | str | None = None, requires_grad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """A raised cosine."""
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int, *, sym: bool = True, dtype: torch.dtype | None = None, layout: Layout = strided,
    device: torch.device | str | None = None, requires_grad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """Two cosines, with weaker side lobes."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip


def bartlett(
    M: int, *, sym: bool = True, dtype: torch.dtype | None = None, layout: Layout = strided,
    device: torch.device | str | None = None, requires_grad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """A triangle."""
    dtype = _checked("bartlett", M, dtype, layout)
    trivial = _trivial(M, dtype, device, requires_grad)
    if trivial is not None:
        return trivial
    n = _places(M, -1, 2 / (M if not sym else M - 1), dtype, device, requires_grad)
    return 1 - torch.abs(n)


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True,
    dtype: torch.dtype | None = None, layout: Layout = strided,
    device: torch.device | str | None = None, requires_grad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """a[0] - a[1] cos(x) + a[2] cos(2x) - …"""
    dtype = _checked("general_cosine", M, dtype, layout)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    trivial = _trivial(M, dtype, device, requires_grad)
    if trivial is not None:
        return trivial
    n = _places(M, 0, 2 * math.pi / (M if not sym else M - 1), dtype, device, requires_grad)
    signed = torch.tensor([(-1) ** i * w for i, w in enumerate(a)], dtype=dtype, device=device)
    multiples = torch.arange(signed.shape[0], dtype=dtype, device=device)
    return (signed.unsqueeze(-1) * torch.cos(multiples.unsqueeze(-1) * n)).sum(0)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True,
    dtype: torch.dtype | None = None, layout: Layout = strided,
    device: torch.device | str | None = None, requires_grad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """alpha less a cosine of amplitude 1 - alpha."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip


def nuttall(
    M: int, *, sym: bool = True, dtype: torch.dtype | None = None, layout: Layout = strided,
    device: torch.device | str | None = None, requires_grad: bool = False,
) -> torch.Tensor:  # fmt: skip
    """Three cosines, with the weakest side lobes of these."""
    weights = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=weights, sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)  # fmt: skip
