"""``torch.cuda.amp``: older names of ``torch.amp`` for CUDA. As in PyTorch without CUDA they are switched off."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from ..amp import autocast_mode
from ..amp._older_names import OlderGradScaler, deprecated

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]

custom_bwd: Callable[..., Any] = functools.partial(autocast_mode.custom_bwd, device_type="cuda")
custom_fwd: Callable[..., Any] = functools.partial(autocast_mode.custom_fwd, device_type="cuda")


def amp_definitely_not_available() -> bool:
    """True: there is no CUDA."""
    return True


class autocast(autocast_mode.autocast):
    """torch.autocast("cuda", ...)."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True
    ) -> None:
        deprecated("cuda", "autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(OlderGradScaler):
    """torch.amp.GradScaler("cuda", ...)."""

    _bound_to = "cuda"
