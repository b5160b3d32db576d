"""``torch.npu.amp``: autocast and GradScaler bound to the NPU, as torch_npu has them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from ..amp import autocast_mode, grad_scaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

custom_bwd: Callable[..., Any] = functools.partial(autocast_mode.custom_bwd, device_type="npu")
custom_fwd: Callable[..., Any] = functools.partial(autocast_mode.custom_fwd, device_type="npu")


class autocast(autocast_mode.autocast):
    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True
    ) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """``dynamic=False`` keeps the scale as it is."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ) -> None:
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self._dynamic = dynamic

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        if new_scale is None and self._enabled and not self._dynamic:
            new_scale = self.get_scale()
        super().update(new_scale)
