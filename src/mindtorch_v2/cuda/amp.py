"""``torch.cuda.amp``: older names of ``torch.amp`` for CUDA. As in PyTorch without CUDA they are switched off."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from ..amp import autocast_mode, grad_scaler

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]

custom_bwd: Callable[..., Any] = functools.partial(autocast_mode.custom_bwd, device_type="cuda")
custom_fwd: Callable[..., Any] = functools.partial(autocast_mode.custom_fwd, device_type="cuda")


def amp_definitely_not_available() -> bool:
    """True: there is no CUDA."""
    return True


def _deprecated(name: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(autocast_mode.autocast):
    """torch.autocast("cuda", ...)."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True
    ) -> None:
        _deprecated("autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """torch.amp.GradScaler("cuda", ...)."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _deprecated("GradScaler")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
